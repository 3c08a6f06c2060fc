# SPDX-License-Identifier: Apache-2.0
"""A program that maps every row to every target again and again, and reports what is left over.

It prints a line of JSON for each round: what is alive when all of it was dropped.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

import samebytes
from samebytes.errors import RouteError
from samebytes_softdevices import cuda_live, gpu_live_imports, npu_trace

from .proof import write
from .sources import IMAGES, SOURCES, TARGETS, TENSORS

_CUDA_MEMORY = ("device", "pinned", "managed", "registered", "vmm", "external")
LAYOUTS = {"page": TENSORS["page"], "NV12": IMAGES["NV12"]}


def one_round() -> None:
    """Map, write where that is allowed, and drop, in the order in which names go."""
    for row in SOURCES.values():
        for name, layout in LAYOUTS.items():
            if name not in row.layouts:
                continue
            for target in TARGETS:
                for access in ("r", "rw"):
                    item = row.make(layout)
                    try:
                        mapped = item.map(target, access)
                    except RouteError:
                        continue
                    if access == "rw":
                        write(mapped, 1)


def left(trace: str, contexts: list[Any]) -> dict[str, int]:
    """Counts of what is alive after routing has dropped what it keeps for a while."""
    samebytes.refresh()
    gc.collect()
    calls = [record.call for record in npu_trace(trace)]
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "imports of the GPU": gpu_live_imports(),
        "references to cl_contexts": sum(c.native.reference_count for c in contexts),
        "memory of the NPU": calls.count("mem_alloc") - calls.count("mem_free"),
        "memory of CUDA": sum(map(cuda_live, _CUDA_MEMORY)),
        "contexts of the NPU": calls.count("context_create") - calls.count("context_destroy"),
    }


def main(trace: str, rounds: int) -> None:
    """Print what is left after each round. Contexts are made once, and held."""
    held = {name: samebytes.context(name) for name in TARGETS if name != "ffmpeg"}
    sharing = [held[name].derive("opencl") for name in ("opencl", "opencv_umat", "openvino:GPU")]
    for _ in range(rounds):
        one_round()
        sys.stdout.write(json.dumps(left(trace, sharing)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
