# SPDX-License-Identifier: Apache-2.0
"""A check that GStreamer is usable here, run in a child process so a bad library does no harm."""

from __future__ import annotations

from samebytes.errors import SamebytesError
from samebytes.plugins import ProbeResult

__all__ = ["probe"]


def probe() -> ProbeResult:
    """Load GStreamer through gi and its C libraries, and compare their structures."""
    try:
        import gi

        from ._abi.gi import Gst
        from ._abi.libraries import va
    except SamebytesError as error:
        return ProbeResult(usable=False, reason=str(error), hint=getattr(error, "hint", ""))
    except ImportError as error:
        from ._abi.install_hints import PYGOBJECT

        return ProbeResult(
            usable=False, reason=f"PyGObject cannot be imported: {error}", hint=PYGOBJECT
        )
    try:
        va()
        surfaces = "yes"
    except SamebytesError as error:
        surfaces = f"no: {error}"
    version = Gst.version_string()
    return ProbeResult(
        usable=True,
        reason=f"{version}, PyGObject {gi.__version__}",
        details={"GStreamer": version, "PyGObject": gi.__version__, "VA-API memory": surfaces},
    )
