# SPDX-License-Identifier: Apache-2.0
"""A check that FFmpeg frames can be mapped, run in a child process: a bad PyAV does no harm."""

from __future__ import annotations

from contextlib import suppress

from samebytes.errors import SamebytesError
from samebytes.plugins import ProbeResult

__all__ = ["probe"]


def probe() -> ProbeResult:
    """Import PyAV, and check the libavutil that it uses and the layout of its objects."""
    try:
        import av

        from . import _pyav  # noqa: F401 - importing it is the check
    except SamebytesError as error:
        return ProbeResult(usable=False, reason=str(error), hint=getattr(error, "hint", ""))
    except ImportError as error:
        return ProbeResult(
            usable=False,
            reason=f"PyAV cannot be imported: {error}",
            hint='pip install "samebytes[ffmpeg]"',
        )
    ffmpeg = getattr(av, "ffmpeg_version_info", "")  # since PyAV 13
    details = {"av": av.__version__, "FFmpeg": ffmpeg}
    details |= _devices()
    for name, version in sorted(av.library_versions.items()):
        details[name] = ".".join(map(str, version))
    return ProbeResult(
        usable=True,
        reason=f"PyAV {av.__version__} with FFmpeg {ffmpeg}".rstrip(),
        details=details,
    )


def _devices() -> dict[str, str]:
    """Return the types of device that each libavutil was built with; no device is opened."""
    from ._avutil import PYAV
    from ._hardware.libraries import device_types, system_library

    found = {"devices of PyAV's FFmpeg": PYAV}
    with suppress(SamebytesError):
        system = system_library()
        if system is not PYAV:
            found[f"devices of {system.path}"] = system
    details = {}
    for name, library in found.items():
        try:
            details[name] = ", ".join(device_types(library)) or "none"
        except SamebytesError as error:
            details[name] = str(error)
    return details
