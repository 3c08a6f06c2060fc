# SPDX-License-Identifier: Apache-2.0
"""What mapping costs on a GPU: time beside torch's own exchange, and what is left of many maps.

    python3 contrib/cuda/tools/bench.py [--maps N]

Times are the best of several rounds. Without torch, arrays of samebytes' own stand for its tensors.
"""

from __future__ import annotations

import argparse
import gc
import os
import timeit
from collections.abc import Callable
from typing import Any

import samebytes as sb


def main() -> None:
    """Print one line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--maps", type=int, default=100_000)
    count = parser.parse_args().maps
    context = sb.context("cuda")
    print(f"device: {context.device.name}")
    try:
        import torch

        torch.ones(1, device="cuda")
    except Exception as error:  # no torch, or one that cannot use the device
        print(f"torch: {type(error).__name__}: {str(error).splitlines()[0]}")
        array: Any = context.allocate((1080, 1920, 3)).native
    else:
        print(f"torch: {torch.__version__}")
        array = torch.zeros((1080, 1920, 3), dtype=torch.uint8, device="cuda")
        theirs = best(lambda: torch.from_dlpack(array))
        report("torch.from_dlpack(t)", theirs)
        report('sb.tensor(t).map("cuda")', best(lambda: sb.tensor(array).map("cuda")), theirs)
        # Its parts: what the producer takes, what wrapping takes, and what mapping takes.
        report(
            "  t.__dlpack__(stream=1), the producer's part",
            best(lambda: array.__dlpack__(stream=1, max_version=(1, 0), copy=False)),
            theirs,
        )
        report("  t.__dlpack_device__()", best(array.__dlpack_device__), theirs)
        report("  sb.tensor(t)", best(lambda: sb.tensor(array)), theirs)
        tensor = sb.tensor(array)
        report('  tensor.map("cuda")', best(lambda: tensor.map("cuda")), theirs)
        report("torch.from_dlpack(tensor)", best(lambda: torch.from_dlpack(tensor)), theirs)
        del tensor
    own = context.allocate((1080, 1920, 3)).native
    report('sb.tensor(a).map("cuda") of a CudaArray', best(lambda: sb.tensor(own).map("cuda")))
    flat(array, count)


def best(function: Callable[[], object], rounds: int = 7, number: int = 2000) -> float:
    """Microseconds of one call, in the best of several rounds."""
    function()
    return min(timeit.repeat(function, repeat=rounds, number=number)) / number * 1e6


def report(what: str, microseconds: float, beside: float | None = None) -> None:
    """Print a time, and how it compares."""
    ratio = f", {microseconds / beside:.2f} times torch.from_dlpack" if beside else ""
    print(f"{what}: {microseconds:.2f} us{ratio}")


def flat(array: Any, count: int) -> None:
    """Print what many mappings leave behind."""
    from cuda.bindings import driver

    context: Any = sb.context("cuda")

    def used() -> tuple[int, int]:
        gc.collect()
        context.synchronize()
        driver.cuCtxPushCurrent(context.native)
        _, free, _ = driver.cuMemGetInfo()
        driver.cuCtxPopCurrent()
        return int(free), len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a number is all that counts

    for _ in range(1000):
        sb.tensor(array).map("cuda")
    before = used()
    for _ in range(count):
        sb.tensor(array).map("cuda")
    after = used()
    print(
        f"{count} maps: {before[0] - after[0]} bytes of GPU memory and "
        f"{after[1] - before[1]} descriptors left"
    )


if __name__ == "__main__":
    main()
