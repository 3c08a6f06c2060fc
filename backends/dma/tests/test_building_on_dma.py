# SPDX-License-Identifier: Apache-2.0
"""The parts that packages build on: memory that stays mapped, its seals, and being extended."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Fd, FrameMeta, ImageFormat, ImageInfo, TensorInfo
from samebytes.errors import LayoutError
from samebytes_dma import (
    DMA,
    F_SEAL_FUTURE_WRITE,
    DMABuffer,
    DMAContext,
    DMATensor,
    KeptMapping,
    exporter_of,
    frame_with_meta,
    lasting_mapping,
    seals_of,
)

MakeMemfd = Callable[..., int]


def test_the_context_is_that_of_the_name() -> None:
    assert samebytes.context("dma") is DMA
    assert samebytes.context("dma:memfd") == DMA


def test_new_memory_without_a_layout() -> None:
    context = DMAContext.create("memfd", None)
    with context.allocate_fd(5000) as fd:
        assert os.fstat(fd.fileno()).st_size == 8192
        assert os.pread(fd.fileno(), 8192, 0) == bytes(8192)
        assert seals_of(fd.fileno()) & fcntl.F_SEAL_SHRINK
        assert exporter_of(fd.fileno()) == ""
    with pytest.raises(LayoutError, match="address space"):
        context.allocate_fd(sys.maxsize)


def test_seals_are_read(memfd: MakeMemfd, tmp_path: Path) -> None:
    number = memfd()
    assert seals_of(number) == 0
    fcntl.fcntl(number, fcntl.F_ADD_SEALS, F_SEAL_FUTURE_WRITE)
    assert seals_of(number) == F_SEAL_FUTURE_WRITE
    with pytest.raises(PermissionError):
        os.pwrite(number, b"x", 0)
    with (tmp_path / "file").open("wb") as file:
        assert seals_of(file.fileno()) & fcntl.F_SEAL_SHRINK == 0


def test_a_frame_with_all_that_is_known_of_it() -> None:
    buffer = DMABuffer(DMA.allocate_fd(4096))
    planes = [buffer.plane(TensorInfo("uint8", (16, 64)))]
    meta = FrameMeta(ImageInfo(ImageFormat.of("GRAY8"), 64, 16), pts=7)
    frame = frame_with_meta(planes, meta, readonly=True)
    assert frame.meta is meta
    assert frame.readonly
    assert frame.native == tuple(planes)
    with pytest.raises(LayoutError, match=r"planes of .*: 1, passed: 2"):
        frame_with_meta([*planes, *planes], meta)
    assert len(frame_with_meta([*planes, *planes], FrameMeta(None)).planes) == 2


def test_memory_that_stays_mapped(memfd: MakeMemfd) -> None:
    kept = KeptMapping(writable=False)
    buffer = DMABuffer(Fd.borrow(memfd()), kept=kept)
    assert not kept.is_made
    tensor = DMATensor.wrap(buffer.plane(TensorInfo("uint8", (64,))))
    first, second = tensor.map("cpu"), tensor.map("cpu")
    assert kept.is_made
    assert first.native.ctypes.data == second.native.ctypes.data == kept.of(buffer).address


def test_only_reading_memory_that_stays_mapped_needs_no_end(memfd: MakeMemfd) -> None:
    kept = KeptMapping(writable=True)
    buffer = DMABuffer(Fd.borrow(memfd()), kept=kept)
    assert lasting_mapping(buffer, "r") is None  # its owner is one of writers too
    storage = samebytes.Storage(None, nbytes=4096, keep=buffer.storage, readonly=True)
    lent = buffer.lent(storage, readonly=True)
    assert lasting_mapping(lent, "w") is None
    assert lasting_mapping(lent, "r") is storage
    assert storage.address == kept.of(buffer).address
    assert lasting_mapping(DMABuffer(Fd.borrow(memfd())), "r") is None  # each access maps it


def test_threads_that_map_for_the_first_time_get_one_mapping(memfd: MakeMemfd) -> None:
    """The mapping that came second is unmapped, and nobody's array lies in it.

    Another thread comes at each function that the first mapping calls, one after the other.
    """
    number = memfd()
    os.pwrite(number, b"\x09" * 64, 0)
    for step in count():
        buffer = DMABuffer(Fd.borrow(number), kept=KeptMapping(writable=False))
        tensor = DMATensor.wrap(buffer.plane(TensorInfo("uint8", (64,))))
        arrays: list[np.ndarray[Any, Any]] = []
        steps = count()

        def meanwhile(_frame: object, event: str, _what: object) -> None:
            if event == "call" and next(steps) == step:  # noqa: B023 - called in this turn
                sys.setprofile(None)
                other = threading.Thread(target=map_too)
                other.start()
                other.join(20)

        def map_too() -> None:
            arrays.append(tensor.map("cpu").native)  # noqa: B023 - as above

        sys.setprofile(meanwhile)
        try:
            map_too()
        finally:
            sys.setprofile(None)
        if len(arrays) == 1:  # it calls fewer functions
            break
        assert len({array.ctypes.data for array in arrays}) == 1
        assert all((array == 9).all() for array in arrays)
    assert step > 5


_USE = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import samebytes_dma
    assert samebytes_dma.DMA.allocate((4,)).shape == (4,)
    print(*(w.message for w in caught if w.category is RuntimeWarning), sep="\\n")
"""


def _installed(site: Path, name: str, module: str, code: str) -> None:
    info = site / f"{name}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[samebytes_dma.extensions]\n{name} = {module}\n")
    (site / f"{name}_module.py").write_text(code)


def test_packages_extend_it_and_broken_ones_are_left_out(tmp_path: Path) -> None:
    site = tmp_path / "site"
    _installed(site, "aback", "aback_module", "raise RuntimeError('no')\n")
    _installed(site, "beside", "not a module", "")
    _installed(site, "good", "good_module", "def register():\n    print('registered')\n")
    done = subprocess.run(
        [sys.executable, "-c", _USE],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]),
        },
        text=True,
        capture_output=True,
        check=True,
    )
    first, second, third = done.stdout.splitlines()
    assert first == "registered"
    assert second == "aback does not extend samebytes-dma: RuntimeError: no"
    assert third.startswith("beside does not extend samebytes-dma: ImportError: its entry point")
