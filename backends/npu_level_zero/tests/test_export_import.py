# SPDX-License-Identifier: Apache-2.0
"""DMA-BUF descriptors out of and into Level Zero: the same bytes, and who closes what."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import samebytes
from samebytes import Fd
from samebytes.errors import ClosedError, LayoutError, UnknownNameError, UnsupportedObjectError
from samebytes.testing import assert_steady
from samebytes_npu_level_zero import (
    LevelZeroContext,
    LevelZeroError,
    LevelZeroTensor,
    NotExportableError,
)

PAGE = mmap.PAGESIZE
Kind = Literal["host", "shared", "device"]
NoneLeft = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def exportable(context: LevelZeroContext) -> LevelZeroTensor:
    """Two pages of host USM."""
    tensor = context.allocate((2 * PAGE,), exportable=True)
    tensor.host_array()[...] = np.arange(2 * PAGE) % 251
    return tensor


@pytest.fixture
def memfd() -> Iterator[int]:
    """Memory of three pages that has nothing to do with Level Zero."""
    number = os.memfd_create("foreign")
    os.truncate(number, 3 * PAGE)
    yield number
    os.close(number)


@pytest.mark.parametrize("kind", ["host", "shared", "device"])
def test_the_same_bytes(context: LevelZeroContext, other: LevelZeroContext, kind: Kind) -> None:
    tensor = context.allocate((64,), "uint16", kind, exportable=True)
    with tensor.export_fd() as fd:
        mapped = mmap.mmap(fd.fileno(), PAGE)
        imported = [where.import_fd(fd, (64,), "uint16") for where in (context, other)]
    mapped[:4] = b"\1\2\3\4"
    for again in imported:
        assert again.native.kind == "host"
        assert again.host_array()[:2].tolist() == [0x0201, 0x0403]
        assert again.handle() != tensor.handle()
    imported[0].host_array()[5] = 0x1234
    assert mapped[10:12] == b"\x34\x12"
    assert imported[1].host_array()[5] == 0x1234


def test_memory_lives_as_long_as_a_descriptor(exportable: LevelZeroTensor) -> None:
    with exportable.export_fd() as fd:
        exportable.close()
        assert mmap.mmap(fd.fileno(), PAGE)[7] == 7


def test_each_export_is_the_callers(exportable: LevelZeroTensor, no_descriptor_left: NoneLeft
) -> None:  # fmt: skip
    kept = exportable.handle("dma_fd")
    with no_descriptor_left():
        first, second = exportable.export_fd(), exportable.export_fd()
        assert len({first.fileno(), second.fileno(), kept}) == 3
        first.close()
        assert mmap.mmap(second.fileno(), PAGE)[1] == 1
        second.close()
    assert exportable.handle("dma_fd") == kept
    assert exportable.handle("drm_modifier") == 0
    os.fstat(kept)
    exportable.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(kept)


def test_what_was_not_made_for_it_is_not_exported(context: LevelZeroContext) -> None:
    tensor = context.allocate((64,))
    for use in (
        tensor.export_fd,
        lambda: tensor.handle("dma_fd"),
        lambda: tensor.handle("drm_modifier"),
    ):
        with pytest.raises(NotExportableError, match="exportable=True") as caught:
            use()
        assert caught.value.name == "ZE_RESULT_ERROR_NOT_AVAILABLE"
        assert caught.value.call == "zeMemGetAllocProperties"


def test_imported_memory_can_be_exported(context: LevelZeroContext, memfd: int) -> None:
    first = context.import_fd(memfd, (PAGE,))
    second = context.import_fd(first.export_fd(), (PAGE,))
    first.host_array()[3] = 33
    assert second.host_array()[3] == 33


def test_layouts(context: LevelZeroContext, memfd: int) -> None:
    os.pwrite(memfd, bytes(range(256)), 0)
    strided = context.import_fd(memfd, (2, 3), offset=4, strides=(16, 2))
    assert strided.host_array().tolist() == [[4, 6, 8], [20, 22, 24]]
    assert strided.handle("offset") == 4
    last = context.import_fd(memfd, (1,), offset=3 * PAGE - 1)
    assert last.host_array().tolist() == [0]
    turned = context.import_fd(memfd, (3,), offset=2, strides=(-1,))
    assert turned.host_array().tolist() == [2, 1, 0]


def test_the_descriptor_stays_the_callers(
    context: LevelZeroContext, memfd: int, no_descriptor_left: NoneLeft
) -> None:
    with no_descriptor_left():
        tensors = [context.import_fd(memfd, (4,)) for _ in range(3)]
        os.fstat(memfd)
        tensors[1].close()
        os.fstat(memfd)
        del tensors
    os.fstat(memfd)
    owner = Fd.borrow(memfd)
    tensor = context.import_fd(owner, (4,))
    assert not owner.closed
    owner.close()
    tensor.host_array()[0] = 5
    assert os.pread(memfd, 1, 0) == b"\5"


@pytest.mark.parametrize(
    ("shape", "dtype", "offset", "strides"),
    [
        ((3 * PAGE + 1,), "uint8", 0, None),
        ((PAGE,), "float32", 0, None),
        ((1,), "uint8", 3 * PAGE, None),
        ((1,), "uint8", -1, None),
        ((4,), "uint8", 1 << 70, None),
        ((2, 2), "uint8", 0, (3 * PAGE, 1)),
        ((2,), "uint8", 0, (-1,)),
        ((1 << 62,), "float64", 0, None),
    ],
)
def test_arrays_that_do_not_fit(
    context: LevelZeroContext,
    memfd: int,
    no_descriptor_left: NoneLeft,
    shape: tuple[int, ...],
    dtype: str,
    offset: int,
    strides: tuple[int, ...] | None,
) -> None:
    why = f"file descriptor {memfd}|larger than the address space"
    with no_descriptor_left(), pytest.raises(LayoutError, match=why):
        context.import_fd(memfd, shape, dtype, offset=offset, strides=strides)


def test_descriptors_that_are_none(
    context: LevelZeroContext, memfd: int, tmp_path: Path, no_descriptor_left: NoneLeft
) -> None:
    closed = os.dup(memfd)
    os.close(closed)
    reader, writer = os.pipe()
    empty = os.memfd_create("empty")
    folder = os.open(tmp_path, os.O_RDONLY)
    bad = {-1: "not an open", closed: "not an open", reader: "is a pipe", empty: "no bytes",
           1 << 20: "not an open", 1 << 40: "not an open"}  # fmt: skip
    with no_descriptor_left():
        for number, why in bad.items():
            with pytest.raises(LayoutError, match=why):
                context.import_fd(number, (1,))
        with pytest.raises(ClosedError):
            context.import_fd(_closed_owner(), (1,))
        with pytest.raises(UnsupportedObjectError):
            context.import_fd("3", (1,))  # type: ignore[arg-type]  # that is the point
        with pytest.raises(UnknownNameError):
            context.import_fd(memfd, (1,), "uint9")
        with pytest.raises((LevelZeroError, LayoutError)):
            context.import_fd(folder, (1,))
    for number in (reader, writer, empty, folder):
        os.close(number)


def _closed_owner() -> Fd:
    owner = Fd(os.memfd_create("closed"))
    owner.close()
    return owner


def test_another_process_writes(exportable: LevelZeroTensor) -> None:
    program = (
        "import mmap, sys; m = mmap.mmap(int(sys.argv[1]), 4096)\n"
        "assert m[5] == 5; m[:7] = b'written'"
    )
    number = exportable.handle("dma_fd")
    subprocess.run([sys.executable, "-c", program, str(number)], pass_fds=[number], check=True)
    assert exportable.host_array()[:7].tobytes() == b"written"


def test_a_file_on_disk_is_the_drivers_to_judge(context: LevelZeroContext) -> None:
    with tempfile.TemporaryFile() as file:
        file.truncate(PAGE)
        try:
            tensor = context.import_fd(file.fileno(), (4,))
        except LevelZeroError:
            return
        tensor.host_array()[0] = 9
        assert os.pread(file.fileno(), 1, 0) == b"\x09"


@pytest.mark.slow
def test_ten_thousand_cycles(context: LevelZeroContext) -> None:
    def once() -> None:
        with context.allocate((64,), exportable=True) as tensor:
            with tensor.export_fd() as fd:
                imported = context.import_fd(fd, (64,))
            imported.host_array()[0] = 1
            assert tensor.host_array()[0] == 1
            imported.close()

    assert_steady(once, 10_000)


def test_nothing_is_copied(context: LevelZeroContext, memfd: int) -> None:
    samebytes.reset_stats()
    context.import_fd(memfd, (8,)).map("cpu")
    assert samebytes.stats().copies == 0
