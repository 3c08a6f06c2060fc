# SPDX-License-Identifier: Apache-2.0
"""The software NPU: our Level Zero driver, which runs models on OpenVINO's CPU plugin.

It runs under the installed Level Zero loader, or stands in for the loader if that is missing or too
old for OpenVINO's NPU plugin. SAMEBYTES_SOFTNPU_LOADER=real or stand-in decides this by hand: Level
Zero code without OpenVINO runs under an old loader as well.

csrc/npu/config.h describes the environment variables of the device itself (SOFTNPU_TRACE,
SOFTNPU_DELAY_US, ...).
"""

from __future__ import annotations

import os
import platform
from importlib.util import find_spec
from pathlib import Path

from samebytes_softdevices._libraries import installed, library
from samebytes_softdevices._plan import Plan, SoftDeviceError
from samebytes_softdevices._private_folder import private_folder

__all__ = ["DRIVER", "LOADER_VARIABLE", "plan"]

DRIVER = "libsoftnpu.so"
LOADER_VARIABLE = "SAMEBYTES_SOFTNPU_LOADER"
_LOADER = "libze_loader.so.1"
# Functions without which OpenVINO's plugin gives up: since Level Zero 1.9.
_NEEDED = b"\0zeCommandListHostSynchronize\0"


def plan() -> Plan:
    """Plan for the software NPU.

    Raises:
        SoftDeviceError: the driver was not built, or SAMEBYTES_SOFTNPU_LOADER asks for a loader
            that is not available.
    """
    if platform.system() != "Linux":
        raise SoftDeviceError(f"the software NPU needs Linux; this is {platform.system()}")
    driver = library(DRIVER)
    # In both cases: a program may bring its own loader, by its RPATH.
    environment = {"ZE_ENABLE_ALT_DRIVERS": str(driver)}
    openvino_c = _openvino_c()
    if openvino_c is not None:
        environment["SOFTNPU_OPENVINO_C"] = str(openvino_c)
    if _real_loader_is_to_be_used():
        return Plan(
            environment=environment,
            describes="npu (Level Zero on the CPU, under the installed loader)",
        )
    folder = private_folder(links={f"lib/{_LOADER}": driver}, files={})
    return Plan(
        environment=environment,
        search=(folder / "lib",),
        # By its SONAME, later look-ups of libze_loader.so.1 find it.
        preload=(driver,),
        describes="npu (Level Zero on the CPU)",
    )


def _real_loader_is_to_be_used() -> bool:
    choice = os.environ.get(LOADER_VARIABLE, "")
    if choice not in ("", "real", "stand-in"):
        raise SoftDeviceError(f"{LOADER_VARIABLE} is {choice!r}; use real or stand-in")
    installed = _installed_loader()
    if choice == "real" and installed is None:
        raise SoftDeviceError(
            f"{LOADER_VARIABLE}=real, but there is no {_LOADER}: apt install libze1"
        )
    if choice:
        return choice == "real"
    # Read from the file, since loading a loader here would decide which one this process has.
    return installed is not None and _NEEDED in installed.read_bytes()


def _installed_loader() -> Path | None:
    """The loader that programs would find."""
    ours = library(DRIVER)
    # A program that we started has our own stand-in first.
    return next((path for path in installed(_LOADER) if not path.samefile(ours)), None)


def _openvino_c() -> Path | None:
    """OpenVINO's C library, for graphs in a process that has not loaded OpenVINO by itself."""
    found = find_spec("openvino")
    if found is None or found.origin is None:
        return None
    libraries = Path(found.origin).parent / "libs"
    return next(iter(sorted(libraries.glob("libopenvino_c.so*"))), None)
