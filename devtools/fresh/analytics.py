# SPDX-License-Identifier: Apache-2.0
"""GStreamer's analytics metadata, against its own elements, on a Debian that has them."""

import time

from devtools.fresh.root import unpacked, why_no_root
from devtools.results import Result
from devtools.workspace import CommandError

SUITE = "trixie"
_CHECKS = ("analytics_checks.py", "analytics_mask_checks.py")
_FOLDER = "contrib/gstreamer/tests"
_PARTS = ("sdk", "mappers", "contrib/gstreamer")
_PACKAGES = (
    *("python3-gi", "python3-numpy", "python3-pluggy", "python3-importlib-metadata"),
    *("python3-pytest", "python3-hatchling"),
    *("gir1.2-gstreamer-1.0", "gir1.2-gst-plugins-base-1.0", "gir1.2-gst-plugins-bad-1.0"),
    "gstreamer1.0-plugins-base",
    *("libpangocairo-1.0-0", "fonts-dejavu-core"),
)
# They depend on a gigabyte for their other elements, so they are only unpacked.
_UNPACKED = ("gstreamer1.0-plugins-good", "gstreamer1.0-plugins-bad")
_SECONDS = 300

_INSTALL = f"""
set -e
python3 -m pip install --quiet --break-system-packages --root-user-action=ignore \\
    --no-deps --no-index --no-build-isolation {" ".join(f"./{part}" for part in _PARTS)}
cd /tmp
apt-get download --quiet=2 {" ".join(_UNPACKED)}
for package in *.deb; do dpkg --extract "$package" /; done
"""


def analytics(suite: str = SUITE) -> list[Result]:
    """Run the checks in a root of that suite.

    Args:
        suite: trixie (Debian 13) has GStreamer 1.26; a later one that debootstrap knows, such as
            `testing`, has what is newer.

    Raises:
        CommandError: it cannot be made.
    """
    reason = why_no_root()
    if reason:
        raise CommandError(reason)
    began = time.monotonic()
    with unpacked(suite, "root") as root:
        root.install(_PACKAGES)
        ended = root.run(["sh", "-c", _INSTALL])
        if not ended.status:
            # A folder of their own: the checkout's conftest.py is for the machine that has all.
            files = " ".join(f"{_FOLDER}/{name}" for name in _CHECKS)
            command = f"mkdir -p /tmp/checks/tests && cp {files} /tmp/checks/tests && "
            command += "cd /tmp/checks && exec python3 -m pytest -q --import-mode=importlib "
            command += " ".join(f"tests/{name}" for name in _CHECKS)
            ended = root.run(["timeout", str(_SECONDS), "sh", "-c", command])
    seconds = time.monotonic() - began
    name = f"fresh ({suite}) analytics"
    return [Result(name, not ended.status, f"{ended.last_line} ({seconds:.0f} s)")]
