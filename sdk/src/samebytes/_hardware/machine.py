# SPDX-License-Identifier: Apache-2.0
"""Words for the machine: its processor, system and versions. No name of a host or user."""

from __future__ import annotations

import datetime
import platform
import re
from contextlib import suppress
from pathlib import Path

from .. import __version__

__all__ = ["machine", "processor"]


def machine() -> dict[str, str]:
    """The fields of a report on the machine and the day."""
    system = ""
    with suppress(OSError):
        release = platform.freedesktop_os_release()
        system = f"{release.get('ID', '')} {release.get('VERSION_ID', '')}".strip()
    kernel = re.match(r"\d+(\.\d+)*", platform.release())
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "samebytes": __version__,
        "python": platform.python_version(),
        "system": system,
        "kernel": kernel.group() if kernel else "",
        "processor": processor(),
    }


def processor() -> str:
    """The processor's name, as Linux reports it."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
