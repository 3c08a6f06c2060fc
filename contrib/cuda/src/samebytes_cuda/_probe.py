# SPDX-License-Identifier: Apache-2.0
"""A check that CUDA can be used on this machine."""

from __future__ import annotations

from samebytes.errors import SamebytesError
from samebytes.plugins import ProbeResult

__all__ = ["probe"]


def probe() -> ProbeResult:
    """Look for cuda-bindings, the driver and devices."""
    try:
        from cuda import bindings
    except ImportError as error:
        return ProbeResult(
            usable=False,
            reason=f"cuda-bindings cannot be imported: {error}",
            hint='pip install "samebytes[cuda]"',
        )
    from ._devices import describe, names
    from ._driver import NO_DRIVER, call, driver, initialize

    details = {"cuda-bindings": bindings.__version__}
    try:
        initialize()
        version = call(driver.cuDriverGetVersion)
        found = [str(describe(int(n)).name) for n in names()]
    except SamebytesError as error:
        return ProbeResult(usable=False, reason=str(error), hint=NO_DRIVER, details=details)
    if not found:
        return ProbeResult(
            usable=False, reason="CUDA finds no device", hint=NO_DRIVER, details=details
        )
    # cuDriverGetVersion() writes 1000 * major + 10 * minor.
    details["CUDA of the driver"] = f"{version // 1000}.{version % 1000 // 10}"
    details["devices"] = ", ".join(f"{n}: {name}" for n, name in enumerate(found))
    return ProbeResult(
        usable=True, reason=f"cuda-bindings {bindings.__version__}, {found[0]}", details=details
    )
