# SPDX-License-Identifier: Apache-2.0
"""The cost of mapping on a GPU: time beside torch's own exchange, and leftovers of many maps.

    python3 contrib/cuda/tools/bench.py [--maps N]

Times are the best of many rounds, in which the compared ways take turns. Without torch, an array of
samebytes stands for its tensors.
"""

from __future__ import annotations

import argparse
import gc
import os
import timeit
from collections.abc import Callable
from importlib import import_module
from typing import Any

import samebytes as sb


def main() -> None:
    """Print one line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--maps", type=int, default=100_000)
    count = parser.parse_args().maps
    print(f"device: {sb.context('cuda').device.name}")
    own = sb.context("cuda").allocate((1080, 1920, 3)).native
    array: Any = own
    try:
        import torch

        torch.ones(1, device="cuda")
    except Exception as error:  # no torch, or one that cannot use the device
        print(f"torch: {type(error).__name__}: {str(error).splitlines()[0]}")
    else:
        print(f"torch: {torch.__version__}")
        array = torch.zeros((1080, 1920, 3), dtype=torch.uint8, device="cuda")
        compare("torch.from_dlpack", of_torch(torch, array))
    try:
        cupy = import_module("cupy")
        there = cupy.zeros((1080, 1920, 3), "uint8")
    except Exception as error:
        print(f"cupy: {type(error).__name__}: {str(error).splitlines()[0]}")
    else:
        print(f"cupy: {cupy.__version__}")
        compare(
            "cupy.from_dlpack",
            {
                "cupy.from_dlpack(a)": lambda: cupy.from_dlpack(there),
                'sb.tensor(a).map("cuda")': lambda: sb.tensor(there).map("cuda"),
            },
        )
    compare("", {'sb.tensor(a).map("cuda") of a CudaArray': lambda: sb.tensor(own).map("cuda")})
    flat(array, count)


def of_torch(torch: Any, array: Any) -> dict[str, Callable[[], object]]:
    """The timed calls for a tensor of torch: the exchange as a whole, and its parts."""
    tensor = sb.tensor(array)
    return {
        "torch.from_dlpack(t)": lambda: torch.from_dlpack(array),
        'sb.tensor(t).map("cuda")': lambda: sb.tensor(array).map("cuda"),
        "  t.__dlpack__(stream=1), torch's part of it": lambda: array.__dlpack__(
            stream=1, max_version=(1, 0), copy=False
        ),
        "  t.__dlpack_device__()": array.__dlpack_device__,
        "  sb.tensor(t)": lambda: sb.tensor(array),
        '  tensor.map("cuda")': lambda: tensor.map("cuda"),
        "torch.from_dlpack(tensor)": lambda: torch.from_dlpack(tensor),
    }


def compare(
    beside: str, functions: dict[str, Callable[[], object]], rounds: int = 60, number: int = 200
) -> None:
    """Print the time of each, and how it compares with the first.

    The functions take turns, so that what else the machine does meets all of them alike; each has
    the time of its best round.
    """
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            best[name] = min(best[name], timeit.timeit(function, number=number))
    first = next(iter(best.values()))
    for name, seconds in best.items():
        ratio = f", {seconds / first:.2f} times {beside}" if beside else ""
        print(f"{name}: {seconds / number * 1e6:.2f} us{ratio}")


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
