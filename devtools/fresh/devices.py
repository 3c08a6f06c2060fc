# SPDX-License-Identifier: Apache-2.0
"""The software devices as a user gets them: the wheel and the sdist, on a machine without gcc.

Both are built on this machine, as `dev.py wheels` builds them, and installed in the fresh one.
"""

import tempfile
from pathlib import Path

from devtools import wheels
from devtools.fresh.root import Ended, Root
from devtools.results import Result
from devtools.workspace import SOFTDEVICES

__all__ = ["judged_sdist", "judged_wheel", "try_devices"]

_DEVICES = "import openvino; print('devices:', *openvino.Core().available_devices)"
# $1 is the file. Each gets an environment of its own.
_OF_WHEEL = f"""
python3 -m venv ~/of-wheel && ~/of-wheel/bin/pip install --quiet "$1[gpu,npu]" openvino &&
~/of-wheel/bin/samebytes-softdevices run --gpu --npu -- ~/of-wheel/bin/python -c "{_DEVICES}"
"""
_OF_SDIST = """
python3 -m venv ~/of-sdist && ~/of-sdist/bin/pip install --quiet "$1" && echo installed &&
~/of-sdist/bin/samebytes-softdevices check
"""


def try_devices(root: Root, name: str) -> list[Result]:
    """Install the wheel and the sdist of the software devices in a machine that has no compiler.

    Args:
        root: the machine; it has python3-venv.
        name: what the results are called by.

    Raises:
        CommandError: the packages cannot be built here, or the machine has a compiler.
    """
    with tempfile.TemporaryDirectory(prefix="samebytes-devices-") as folder:
        built = Path(folder)
        wheels.build_all(built, [SOFTDEVICES])
        audit = wheels.audited(built, strict=True)
        if not audit.ok:
            return [Result(f"{name} wheel", False, audit.summary)]
        wheel, sdist = (root.put(next(built.glob(p))) for p in ("*.whl", "*.tar.gz"))
    of_wheel = root.run(["sh", "-c", _OF_WHEEL, "sh", wheel])
    of_sdist = root.run(["sh", "-c", _OF_SDIST, "sh", sdist])
    return [
        Result(f"{name} wheel", *judged_wheel(of_wheel)),
        Result(f"{name} sdist", *judged_sdist(of_sdist)),
    ]


def judged_wheel(ended: Ended) -> tuple[bool, str]:
    """OpenVINO must see all three devices."""
    found = {word for line in ended.lines if line.startswith("devices: ") for word in line.split()}
    return ended.status == 0 and {"CPU", "GPU", "NPU"} <= found, ended.last_line


def judged_sdist(ended: Ended) -> tuple[bool, str]:
    """It must install, and `check` must name the compiler that is missing."""
    if "installed" not in ended.lines:
        return False, f"it did not install: {ended.last_line}"
    named = [line for line in ended.lines if "gcc" in line]
    if ended.status == 0 or not named:
        return False, f"check does not name what is missing: {ended.last_line}"
    return True, f"it installs, and check says: {named[0]}"
