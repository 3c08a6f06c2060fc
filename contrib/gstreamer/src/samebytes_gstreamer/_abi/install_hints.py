# SPDX-License-Identifier: Apache-2.0
"""Instructions for installing what this plugin needs, on Debian and its derivatives."""

from __future__ import annotations

__all__ = ["ANALYTICS_LIBRARY", "LIBRARIES", "PYGOBJECT", "TYPELIBS", "VA_LIBRARY"]

# PyGObject 3.51 and later are built on girepository 2.0, which Debian 12 lacks, older ones on 1.0.
PYGOBJECT = (
    "sudo apt install python3-gi, and make the venv with --system-site-packages; or, to build it "
    "on Debian 13 or later, sudo apt install libgirepository-2.0-dev libcairo2-dev gcc pkg-config "
    "python3-dev && pip install PyGObject (on Debian 12, libgirepository1.0-dev, and pip install "
    '"PyGObject>=3.42,<3.51")'
)
TYPELIBS = (
    "sudo apt install gir1.2-gstreamer-1.0 gir1.2-gst-plugins-base-1.0 gstreamer1.0-plugins-base"
)
LIBRARIES = "sudo apt install libgstreamer1.0-0 libgstreamer-plugins-base1.0-0"
ANALYTICS_LIBRARY = (
    "use GStreamer 1.24 or later (Debian 13, Ubuntu 24.10), and sudo apt install "
    "libgstreamer-plugins-bad1.0-0"
)
VA_LIBRARY = "sudo apt install libgstreamer-plugins-bad1.0-0"
