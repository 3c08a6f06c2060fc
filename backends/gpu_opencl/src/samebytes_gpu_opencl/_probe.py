# SPDX-License-Identifier: Apache-2.0
"""Can OpenCL be used on this machine? If not, which piece is missing, and how it is got."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

from samebytes.plugins import ProbeResult, advice_to_open

__all__ = ["driver_files", "probe", "trouble_with"]

_VENDORS = Path("/etc/OpenCL/vendors")
_NODES = Path("/dev/dri")
_LOADER = "libOpenCL.so.1"
_DRIVERS = (
    "Intel GPU: apt install intel-opencl-icd; CPU: apt install pocl-opencl-icd; NVIDIA and AMD: "
    "their drivers bring it; for tests without a GPU: "
    'pip install "samebytes-softdevices[gpu]", then '
    "samebytes-softdevices run --gpu -- COMMAND"
)


def probe() -> ProbeResult:
    """Look for pyopencl, drivers, and devices."""
    try:
        import pyopencl
    except ImportError as error:
        return ProbeResult(
            usable=False,
            reason=f"pyopencl cannot be imported: {error}",
            hint='pip install "samebytes[opencl]"',
        )
    details = {"pyopencl": str(pyopencl.VERSION_TEXT), _LOADER: _loader_state()}
    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.Error as error:
        return _no_platform(str(error), details)
    if not platforms:
        return _no_platform("no platform", details)
    names = [f"{d.name.strip()} ({p.name.strip()})" for p in platforms for d in _devices(p)]
    details["platforms"] = ", ".join(p.name.strip() for p in platforms)
    if not names:
        return ProbeResult(
            usable=False,
            reason=f"the driver ({details['platforms']}) finds no device",
            hint=_permission() or "check that the device is there: ls -l /dev/dri",
            details=details,
        )
    details["devices"] = ", ".join(names)
    versions = dict.fromkeys(d.driver_version for p in platforms for d in _devices(p))
    details["drivers of devices"] = ", ".join(versions)
    return ProbeResult(usable=True, reason=details["devices"], details=details)


def _devices(platform: Any) -> list[Any]:
    import pyopencl

    try:
        return list(platform.get_devices())
    except pyopencl.Error:  # a driver without its device says DEVICE_NOT_FOUND
        return []


def _permission() -> str:
    """Return how to open the first node of a GPU that the user may not open; "" if none is so."""
    nodes = sorted(_NODES.glob("renderD*"))
    return next((advice_to_open(n) for n in nodes if not os.access(n, os.R_OK | os.W_OK)), "")


def _no_platform(error: str, details: dict[str, str]) -> ProbeResult:
    """Explain why the loader found nothing: no driver is registered, or none can be loaded."""
    files = driver_files()
    if not files:
        return ProbeResult(
            usable=False,
            reason=f"no OpenCL driver is registered in {_place()}: {error}",
            hint=_elsewhere() or f"install one ({_DRIVERS})",
            details=details,
        )
    reasons, hints = [], []
    for file in files:
        trouble, hint = trouble_with(file)
        reasons.append(f"{file}: {trouble}")
        hints.append(hint)
    return ProbeResult(
        usable=False, reason="; ".join(reasons), hint="; ".join(dict.fromkeys(hints)),
        details=details,
    )  # fmt: skip


def _place() -> str:
    return os.environ.get("OCL_ICD_VENDORS") or str(_VENDORS)


def driver_files() -> list[Path]:
    """The .icd files, each of which names a driver's library, where the loader looks for them."""
    place = Path(_place())
    if place.is_dir():
        return sorted(place.glob("*.icd"))
    return [place] if place.suffix == ".icd" and place.is_file() else []


def trouble_with(file: Path) -> tuple[str, str]:
    """Return what is wrong with an .icd file, and what to do about it."""
    name = file.read_text().strip()
    library = Path(name)
    if library.is_absolute() and not library.exists():
        nearby = Path(sys.prefix, "lib", library.name)
        hint = f"write the library's true path into {file}"
        if nearby.exists():
            hint = f"echo {nearby} > {file}"
        return f"it names {name}, which is not there (a wheel's placeholder?)", hint
    try:
        ctypes.CDLL(name)
    except OSError as error:
        missing = str(error).split(":", 1)[0]
        hint = f"install what provides {missing}"
        if "intelocl" in name:
            hint += ": pip install intel-cmplr-lib-rt tbb"
        return f"{name} cannot be loaded: {error}", hint
    return f"{name} can be loaded, but offers no platform", "check the driver with clinfo"


def _elsewhere() -> str:
    """A hint where a wheel has put its drivers into the environment, and no loader looks."""
    folder = Path(sys.prefix, "etc", "OpenCL", "vendors")
    for file in sorted(folder.glob("*.icd")) if folder.is_dir() else []:
        library = Path(sys.prefix, "lib", Path(file.read_text().strip()).name)
        if library.exists():
            return (
                f"a wheel brought {library}: make a folder with a file intel.icd that holds this "
                "path, and set OCL_ICD_VENDORS to the folder"
            )
    return ""


def _loader_state() -> str:
    """pyopencl brings its own loader; OpenVINO's GPU plugin and OpenCV want the system's."""
    if sys.platform == "win32":
        return "OpenCL.dll comes with the driver"
    try:
        ctypes.CDLL(_LOADER)
    except OSError:
        return "not found; OpenVINO's GPU plugin and OpenCV need it: apt install ocl-icd-libopencl1"
    return "found"
