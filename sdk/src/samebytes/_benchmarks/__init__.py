# SPDX-License-Identifier: Apache-2.0
"""The core's own benchmarks: CPU memory, exchange, many tensors and threads, the start."""

from __future__ import annotations

from ..benchmarks import Benchmark

__all__ = ["BENCHMARKS"]

_HERE = "samebytes._benchmarks"
_NO_SIZE = ((1, 1),)
_LEAST = "an object with as many slots, made through the same map()"
_SIZES = ((1920, 1080), (640, 360), (3840, 2160), (7680, 4320))

BENCHMARKS = [
    Benchmark(
        name="identity map()",
        what="A CPU tensor is mapped to the CPU, for reading and writing",
        make=f"{_HERE}.host:identity",
        sizes=_SIZES,
        beside=_LEAST,
        goal=1.2,
    ),
    Benchmark(
        name="identity map(), r",
        what="A writable CPU tensor is mapped to the CPU, for reading alone",
        make=f"{_HERE}.host:identity_r",
        beside=_LEAST,
        goal=1.2,
    ),
    Benchmark(
        name="tensor(array)",
        what="An array becomes a tensor",
        make=f"{_HERE}.host:from_array",
        beside="ndarray.view()",
    ),
    Benchmark(
        name="cpu -> cpu, copied",
        what="A tensor is copied, because copy=True asks for it,",
        make=f"{_HERE}.host:copied_tensor",
        edges=("cpu -> cpu tensor copy",),
        beside="ndarray.copy()",
    ),
    Benchmark(
        name="cpu -> cpu, NV12, copied",
        what="Both planes of a frame are copied, because copy=True asks for it,",
        make=f"{_HERE}.host:copied_frame",
        edges=("cpu -> cpu frame copy",),
        beside="ndarray.copy() of each plane",
    ),
    Benchmark(
        name="tensor.__dlpack__()",
        what="A CPU tensor makes a DLPack capsule",
        make=f"{_HERE}.exchange:capsule",
        beside="ndarray.__dlpack__()",
        goal=2,
    ),
    Benchmark(
        name="np.from_dlpack(tensor)",
        what="numpy takes a CPU tensor",
        make=f"{_HERE}.exchange:to_numpy",
        beside="np.from_dlpack(array)",
        goal=2,
    ),
    Benchmark(
        name="torch.from_dlpack(tensor)",
        what="torch takes a CPU tensor",
        make=f"{_HERE}.exchange:to_torch",
        packages={"torch": "pip install torch"},
        beside="torch.from_dlpack(array)",
        goal=2,
    ),
    Benchmark(
        name="tensor() of a DLPack object",
        what="An object of a library that samebytes does not know becomes a tensor",
        make=f"{_HERE}.exchange:foreign",
        beside="np.from_dlpack(object)",
        goal=6,
    ),
    Benchmark(
        name="100,000 tensors made and dropped",
        what="One of 100,000 tensors is made, held with all others, and dropped (CPU time)",
        make=f"{_HERE}.many:made",
        beside="ndarray.view(), as many",
    ),
    Benchmark(
        name="identity map(), 100,000 live tensors",
        what="A CPU tensor is mapped while 100,000 others live",
        make=f"{_HERE}.many:mapped_among_many",
        beside=_LEAST,
        goal=1.2,
    ),
    *(
        Benchmark(
            name=f"tensor() and map(), threads: {count}",
            what=f"An array becomes a tensor and is mapped by {count} threads (CPU time)",
            make=f"{_HERE}.many:in_{count}_threads",
            beside="in the main thread alone",
        )
        for count in (1, 2, 4, 8)
    ),
    Benchmark(
        name="route among 40 nodes",
        what="The cheapest route is found and its function made, among 40 nodes with 160 edges",
        make=f"{_HERE}.routing:among_forty",
        sizes=_NO_SIZE,
        alone="no other library looks for routes",
        goal_us=1_000,
    ),
    Benchmark(
        name="import samebytes",
        what='samebytes is imported, after numpy, with a first tensor and map("cpu") (CPU time)',
        make=f"{_HERE}.starting:imported",
        sizes=_NO_SIZE,
        alone="no other import does what it does",
        goal_us=25_000,
    ),
    Benchmark(
        name="first map() to a plugin",
        what="The first mapping to a plugin's memory finds and loads the plugins (CPU time)",
        make=f"{_HERE}.starting:first_map",
        requires=("opencv",),
        packages={"cv2": "pip install opencv-python-headless"},
        sizes=_NO_SIZE,
        beside="importing pluggy and importlib_metadata, and entry_points()",
        goal=1.2,
    ),
    Benchmark(
        name="discovery, 200 more distributions",
        what="The distributions are searched for plugins, 200 more than are installed (CPU time)",
        make=f"{_HERE}.starting:discovered",
        sizes=_NO_SIZE,
        alone="no other call looks for them",
        goal_us=10_000,
    ),
]
