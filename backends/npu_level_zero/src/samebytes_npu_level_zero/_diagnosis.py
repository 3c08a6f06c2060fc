# SPDX-License-Identifier: Apache-2.0
"""The reasons why Level Zero finds no device, as far as the system's device nodes show them."""

from __future__ import annotations

import os
from pathlib import Path

from samebytes.plugins import advice_to_open

from . import _system

__all__ = ["explain_no_device"]

# Documentation/accel/introduction.rst of Linux: NPUs; drivers/gpu: GPUs.
_NODES = (("NPU", "accel", "accel*"), ("GPU", "dri", "renderD*"))
_PACKAGES = {
    "NPU": "install intel-level-zero-npu (github.com/intel/linux-npu-driver)",
    "GPU": "apt install libze-intel-gpu1 (older systems: intel-level-zero-gpu)",
}
_NO_HARDWARE = (
    "use a machine with an Intel NPU or GPU, or a software one: pip install "
    "samebytes-softdevices, then samebytes-softdevices run --npu -- COMMAND"
)


def explain_no_device(kind: str | None = None, root: Path = Path("/dev")) -> tuple[str, str]:
    """(what is missing, what to do about it), for "NPU", "GPU" or either.

    Args:
        kind: only nodes of that kind of device matter.
        root: where the device nodes are.
    """
    if _system.WINDOWS:
        return "a Level Zero driver", "install Intel's NPU or GPU driver for Windows"
    wanted = [entry for entry in _NODES if kind in (None, entry[0])]
    found = [
        (name, node)
        for name, folder, pattern in wanted
        for node in sorted((root / folder).glob(pattern))
    ]
    for _, node in found:
        if not os.access(node, os.R_OK | os.W_OK):
            return f"permission to use {node}", advice_to_open(node)
    if found:
        name, node = found[0]
        return f"a Level Zero driver for {node}", _PACKAGES[name]
    looked = " or ".join(str(root / folder / pattern) for _, folder, pattern in wanted)
    return f"a device that Level Zero can use (no {looked})", _NO_HARDWARE
