# SPDX-License-Identifier: Apache-2.0
"""Can VA-API be used on this machine, and for what?"""

from __future__ import annotations

from samebytes import ImageInfo
from samebytes.errors import LayoutError, MissingDependencyError, SamebytesError, UnknownNameError
from samebytes.formats import DRM_FORMAT_MOD_LINEAR
from samebytes.plugins import ProbeResult

from ._context import VAAPIContext
from ._displays import default_paths
from ._exporting import export
from ._formats import FORMATS
from ._frame import VAFrame
from ._image import derived
from ._library import VAError, load
from ._tiles import tiles_of

__all__ = ["probe"]

_SAMPLE = ImageInfo.of("NV12", 64, 64)


def probe() -> ProbeResult:
    """Look for libva, and on each DRM node for a driver."""
    try:
        load()
    except MissingDependencyError as error:
        return ProbeResult(usable=False, reason=f"{error.missing} is missing", hint=error.hint)
    details: dict[str, str] = {}
    found, lacks = [], []
    for path in default_paths():
        try:
            context = VAAPIContext.open(path)
        except MissingDependencyError as error:
            details[path] = f"{error.missing} is missing"
            lacks.append(error)
        except UnknownNameError as error:
            details[path] = str(error)
        else:
            details.update(_details(path, context))
            found.append(f"{path} ({context.device.name})")
    if found:
        return ProbeResult(usable=True, reason=", ".join(found), details=details)
    if not lacks:
        try:
            VAAPIContext.open()
        except MissingDependencyError as error:
            lacks.append(error)
        except SamebytesError as error:
            return ProbeResult(
                usable=False, reason=str(error), hint="name a DRM node", details=details
            )
    return ProbeResult(
        usable=False, reason=f"{lacks[0].missing} is missing", hint=lacks[0].hint, details=details
    )


def _details(path: str, context: VAAPIContext) -> dict[str, str]:
    display = context.native_display()
    where = f" at {context.device.pci}" if context.device.pci else ""
    said = {path: f"{display.vendor}{where}, VA-API {display.version}"}
    said[f"{path} surfaces"] = ", ".join(_formats(context)) or "none that samebytes knows"
    tiles = tiles_of(display)
    if tiles:
        said[f"{path} tiles"] = ", ".join(map(str, tiles))
    said[f"{path} memory"] = _memory(context)
    return said


def _formats(context: VAAPIContext) -> list[str]:
    """Return the formats that surfaces can have. Drivers list them only for what they decode."""
    found = []
    for name in FORMATS:
        try:
            context.allocate_frame(name, _SAMPLE.width, _SAMPLE.height).close()
        except VAError:
            continue
        found.append(name)
    return found


def _memory(context: VAAPIContext) -> str:
    try:
        frame = context.allocate_frame(_SAMPLE.format, _SAMPLE.width, _SAMPLE.height)
    except VAError as error:
        return f"no NV12: {error}"
    with frame:
        return f"{_exported(frame)}; {_mapped(frame)}"


def _exported(frame: VAFrame) -> str:
    try:
        layout = export(frame.native.handle, "r").layout
    except (VAError, LayoutError) as error:
        return f"not exported: {error}"
    modifiers = {memory.modifier for memory in layout.objects}
    how = ", ".join("in rows" if m == DRM_FORMAT_MOD_LINEAR else f"tiled {m:#x}" for m in modifiers)
    return f"exported as DMA-BUFs, {how}"


def _mapped(frame: VAFrame) -> str:
    try:
        with derived(frame.native.handle):
            return "mapped to the CPU"
    except (VAError, LayoutError) as error:
        return f"copied to the CPU: {error}"
