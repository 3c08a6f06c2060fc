# SPDX-License-Identifier: Apache-2.0
"""The software VA-API driver, under the installed libva.

libva finds it by LIBVA_DRIVERS_PATH and LIBVA_DRIVER_NAME. Its display is that of /dev/null, which
libsoftva_drm.so shows as a render node.

csrc/va/options.h describes the environment variables of the driver itself (SOFTVA_TILING,
SOFTVA_FAIL, ...).
"""

from __future__ import annotations

import platform

from samebytes_softdevices._libraries import installed, library
from samebytes_softdevices._plan import Plan, SoftDeviceError

__all__ = ["DRIVER", "NODE", "plan"]

DRIVER = "softva_drv_video.so"
NODE = "/dev/null"
_RENDER_NODE = "libsoftva_drm.so"
_NEEDED = ("libva.so.2", "libva-drm.so.2")


def plan() -> Plan:
    """Plan for the software VA-API driver.

    Raises:
        SoftDeviceError: the driver was not built, or libva is missing.
    """
    if platform.system() != "Linux":
        raise SoftDeviceError(
            f"the software VA-API driver needs Linux; this is {platform.system()}"
        )
    driver, render_node = library(DRIVER), library(_RENDER_NODE)
    for name in _NEEDED:
        if not installed(name):
            raise SoftDeviceError(f"{name} is missing: apt install libva2 libva-drm2")
    return Plan(
        environment={
            "LIBVA_DRIVERS_PATH": str(driver.parent),
            "LIBVA_DRIVER_NAME": driver.name.removesuffix("_drv_video.so"),
            # samebytes-vaapi reads it; the tests of others look there for a render node.
            "SAMEBYTES_VAAPI_DEVICE": NODE,
        },
        interpose=(render_node,),
        # libva-drm asks libdrm what kind of node a display is.
        too_late=("libva-drm.so",),
        describes="vaapi (VA-API on the CPU)",
    )
