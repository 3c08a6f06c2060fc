# SPDX-License-Identifier: Apache-2.0
"""GStreamer's analytics metadata, against its own elements, on a Debian that has them."""

import time

from devtools.fresh.root import unpacked, why_no_root
from devtools.results import Result
from devtools.workspace import CommandError

SUITE = "trixie"
_FOLDER = "contrib/gstreamer/tests"
_CHECKS = [f"{_FOLDER}/analytics_{part}checks.py" for part in ("", "flow_", "mask_", "newer_")]
_PARTS = ("sdk", "mappers", "contrib/gstreamer")
_PACKAGES = (
    *("python3-gi", "python3-numpy", "python3-pluggy", "python3-pytest", "python3-hatchling"),
    *("gir1.2-gstreamer-1.0", "gir1.2-gst-plugins-base-1.0", "gir1.2-gst-plugins-bad-1.0"),
    "gstreamer1.0-plugins-base",
    *("libpangocairo-1.0-0", "fonts-dejavu-core"),
)
# They depend on a gigabyte for their other elements, so they are only unpacked.
_UNPACKED = ("gstreamer1.0-plugins-good", "gstreamer1.0-plugins-bad")
_SECONDS = 300

# Debian packages importlib-metadata no longer, from its fourteenth release on.
_INSTALL = f"""
set -e
python3 -m pip install --quiet --break-system-packages --root-user-action=ignore importlib-metadata
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
            # The checkout's conftest.py and settings are for the machine that has all.
            options = "-q --noconftest -c /dev/null --rootdir . --import-mode=importlib"
            command = f"timeout {_SECONDS} python3 -m pytest {options} {' '.join(_CHECKS)}"
            # The shell stays: newer versions of timeout run nothing as a namespace's first process.
            ended = root.run(["sh", "-c", f"{command}; exit $?"])
    seconds = time.monotonic() - began
    name = f"fresh ({suite}) analytics"
    return [Result(name, not ended.status, f"{ended.last_line} ({seconds:.0f} s)")]
