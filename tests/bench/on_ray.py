# SPDX-License-Identifier: Apache-2.0
"""A frame through Ray's object store, on one node and between two, and pipelines on both.

Ray stays in a process of its own: `python -m tests.bench.on_ray` prints a line of JSON.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import samebytes as sb
import samebytes.elements as el

from .measure import Row

__all__ = ["ray_rows"]

_SIZES = {"1080p": (1920, 1080), "4K": (3840, 2160)}
_ROUNDS = 4
_FRAMES = 15
_WARM = 5
_MEGABYTES = 400
_CLUSTER = Path(__file__).parents[1] / "e2e/programs/ray_cluster.py"


def ray_rows(rings: dict[str, float]) -> list[Row]:
    """Medians in microseconds, beside those of the ring in the same run.

    Args:
        rings: the median of the ring for each size.
    """
    if importlib.util.find_spec("ray") is None:
        print("Ray is not installed: its rows are left out")
        return []
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.on_ray"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        print(f"Ray did not run here: {done.stderr.strip().splitlines()[-1]}")
        return []
    rows = []
    for name, took in json.loads(done.stdout.splitlines()[-1]).items():
        size = name.partition(":")[0]
        ours = rings[size]
        if "pipeline" in name:
            rows.append(Row(name, None, took, None))
        else:
            rows.append(Row(f"{name}, medians", took, ours, ours / took))
    return rows


class _Reader:
    """An actor that says when it had the array."""

    def see(self, planes: list[Any]) -> int:
        """The time, in nanoseconds of perf_counter(), which is the same in all processes."""
        there = time.perf_counter_ns()
        assert planes[0][0, 0] in (0, 7)
        return there


class _Look(el.TransformInplace):
    """Reads one pixel."""

    takes = el.Image(memory="cpu")

    def process(self, frame: sb.Frame) -> None:
        assert frame.planes[0].native[0, 0] == 7


class _Frames(el.Source):
    """The same frame again and again, when it is asked for."""

    width: int
    height: int
    count: int = _WARM + _FRAMES

    def open(self, context: Any) -> None:
        self.left = self.count
        picture = np.full((self.height * 3 // 2, self.width), 7, np.uint8)
        planes = [picture[: self.height], picture[self.height :].reshape(-1, self.width // 2, 2)]
        self.planes = planes

    def read(self) -> Any:
        if not self.left:
            return None
        self.left -= 1
        return sb.frame(self.planes, format="NV12")


def _main() -> None:
    with subprocess.Popen(
        [sys.executable, str(_CLUSTER), str(_MEGABYTES)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as cluster:  # fmt: skip
        assert cluster.stdout is not None
        address = cluster.stdout.readline().strip()
        if not address:
            raise SystemExit("its cluster did not start")
        found = _measured(address)
        cluster.communicate()
    print(json.dumps({name: statistics.median(times) for name, times in found.items()}))


def _measured(address: str) -> dict[str, list[float]]:
    """Microseconds of each way, by its name."""
    import ray

    import samebytes_ray as sbr

    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    found: dict[str, list[float]] = {}
    places: dict[str, Any] = {"one node": {"here": 0.01}, "between nodes": {"there": 0.01}}
    readers = {
        place: ray.remote(_Reader).options(num_cpus=0, resources=wanted).remote()
        for place, wanted in places.items()
    }
    for size, (width, height) in _SIZES.items():
        picture = np.full((height * 3 // 2, width), 7, np.uint8)
        for _ in range(_ROUNDS):
            for place, reader in readers.items():
                times = found.setdefault(f"{size}: Ray's object store, {place}", [])
                for number in range(_WARM + _FRAMES):
                    began = time.perf_counter_ns()
                    there = ray.get(reader.see.remote(ray.put([picture])))
                    if number >= _WARM:
                        times.append((there - began) / 1000)
        for threads, where in enumerate(("in the caller's thread", "in threads")):
            pipe = el.Pipeline(_Frames(width, height), _Look())
            found[f"{size}: a pipeline in one process, {where}"] = _alone(pipe, threads)
        for place, wanted in places.items():
            actors = sbr.Pipeline(_Frames(width, height), sbr.Actor(_Look(), resources=wanted))
            found[f"{size}: a pipeline on Ray, {place}"] = _one_by_one(actors)
    ray.shutdown()
    return found


def _alone(pipe: el.Pipeline, threads: int) -> list[float]:
    """One frame under way at a time, from when it is read until it comes out."""
    with pipe.start(threads=threads, queue=1) as out:
        for _ in out:
            pass
        return [out.statistics().latency.p50 * 1000]


def _one_by_one(pipe: Any) -> list[float]:
    """The same; it comes out when the driver knows that it was read, without fetching it."""
    return [pipe.run(in_flight=1).latency.p50 * 1000]


if __name__ == "__main__":
    _main()
