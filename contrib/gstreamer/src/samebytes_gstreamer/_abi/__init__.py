# SPDX-License-Identifier: Apache-2.0
"""GStreamer itself: through gi, and the C libraries under that.

Mirrors of C headers, structures, constants and prototypes, have one module for each library.
"""
