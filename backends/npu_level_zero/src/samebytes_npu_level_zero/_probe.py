# SPDX-License-Identifier: Apache-2.0
"""Can Level Zero be used on this machine?"""

from __future__ import annotations

from samebytes.errors import MissingDependencyError
from samebytes.plugins import ProbeResult

from ._devices import DeviceEntry, entries
from ._diagnosis import explain_no_device
from ._errors import LevelZeroError
from ._loader import LIBRARY_NAME, Library, load, open_library
from ._properties import driver_version, maps_pages

__all__ = ["probe"]

# OpenVINO's NPU plugin calls it; the loader of Debian 12 (1.8) lacks it.
_NEEDED_BY_OPENVINO = "zeCommandListHostSynchronize"


def probe() -> ProbeResult:
    """Look for the loader, a driver, devices, and the permission to use them."""
    try:
        library = load()
        found = entries(library)
    except MissingDependencyError as error:
        return ProbeResult(usable=False, reason=f"{error.missing} is missing", hint=error.hint)
    except LevelZeroError as error:
        return ProbeResult(
            usable=False, reason=str(error), hint="update or reinstall the device's driver"
        )
    details = _details(library, found)
    if not found:
        missing, hint = explain_no_device()
        return ProbeResult(usable=False, reason=f"{missing} is missing", hint=hint, details=details)
    names = ", ".join(f"{entry.name} ({entry.device.name})" for entry in found)
    return ProbeResult(usable=True, reason=names, hint=_advice(found), details=details)


def _details(library: Library, found: list[DeviceEntry]) -> dict[str, str]:
    version = library.version()
    if not hasattr(open_library(), _NEEDED_BY_OPENVINO):
        version += (
            f", too old for OpenVINO's NPU plugin, which calls {_NEEDED_BY_OPENVINO}: "
            "install a newer libze1"
        )
    details = {LIBRARY_NAME: version}
    for entry in found:
        takes = ["exported DMA-BUFs"]
        if maps_pages(library, entry.driver):
            takes.append("pages of the application")
        where = f" at {entry.device.pci}" if entry.device.pci else ""
        details[entry.name] = f"{entry.device.name}{where}; imports {' and '.join(takes)}"
        details[f"driver of {entry.name}"] = str(driver_version(library, entry.driver))
    return details


def _advice(found: list[DeviceEntry]) -> str:
    """Return advice if the machine has an NPU that was not found, else ""."""
    if any(entry.device.kind == "NPU" for entry in found):
        return ""
    missing, hint = explain_no_device("NPU")
    return "" if missing.startswith("a device") else f"for the NPU, {missing} is missing: {hint}"
