# SPDX-License-Identifier: Apache-2.0
"""The choice of the girepository to build PyGObject on: 2.0, or 1.0 where there is no other.

PyGObject 3.51 and later need 2.0, older ones 1.0. Debian 12 has 1.0 alone, Debian 13 both, and
later ones may have 2.0 alone.
"""

import subprocess
import sysconfig
from pathlib import Path

_MULTIARCH = sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"
_PKGCONFIG = Path(f"/usr/lib/{_MULTIARCH}/pkgconfig")

# The file that shows that it is there, and Debian's package.
_NEW = ("girepository-2.0.pc", "libgirepository-2.0-dev")
_OLD = ("gobject-introspection-1.0.pc", "libgirepository1.0-dev")


def is_new() -> bool:
    """True if it is 2.0: an installed one decides, then what the archive has; 2.0 comes first."""
    for name, new in ((_NEW[0], True), (_OLD[0], False)):
        if (_PKGCONFIG / name).exists():
            return new
    return _archive_has(_NEW[1])


def wanted(*, new: bool | None = None) -> tuple[str, str]:
    """The file and the package of the one that is chosen, or that was."""
    name, package = _NEW if (is_new() if new is None else new) else _OLD
    return str(_PKGCONFIG / name), package


def extras() -> tuple[str, ...]:
    """The extras of samebytes-gstreamer for which pip takes a PyGObject that can be built on it."""
    return () if is_new() else ("girepository1",)


def _archive_has(package: str) -> bool:
    try:
        answer = subprocess.run(
            ["apt-cache", "policy", package], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return False
    lines = (line.strip() for line in answer.stdout.splitlines())
    return any(line.startswith("Candidate:") and "(none)" not in line for line in lines)
