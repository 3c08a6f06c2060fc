# SPDX-License-Identifier: Apache-2.0
"""Mappers of other plugins to this memory, which know only the handle keys and `target`."""

from __future__ import annotations

import os
from typing import Any

import pytest

import samebytes
from samebytes import Access, Fd, Frame, MemoryMapper, Storage, Tensor, TensorInfo, Transfer
from samebytes.errors import ClosedError
from samebytes.plugins import MapperSpec
from samebytes_dma import DMATensor


class Export(MemoryMapper):
    """As level_zero -> dma: the driver gives out a descriptor of memory that it owns."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        exported = Fd(os.memfd_create("exported"))
        os.ftruncate(exported.fileno(), 8192)
        os.pwrite(exported.fileno(), item.native.tobytes(), 4096)
        target: Any = self.target
        buffer = target.import_fd(exported)
        return buffer.plane(item.info, offset=4096), None, buffer.storage


class ExportFrame(MemoryMapper):
    """The same for a frame whose planes come on their own descriptors."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        target: Any = self.target
        planes = []
        for plane in item.planes:
            exported = Fd(os.memfd_create("exported"))
            os.ftruncate(exported.fileno(), plane.info.nbytes)
            os.pwrite(exported.fileno(), plane.native.tobytes(), 0)
            planes.append(target.import_fd(exported, keep=item.storage).plane(plane.info))
        return tuple(planes), None, None


def _mapper(make: type[MemoryMapper], level: Any) -> MemoryMapper:
    spec = MapperSpec(source="cpu", target="dma", mapper="test:Export", level=level,
                      transfer=Transfer.IMPORT, summary="a test")  # fmt: skip
    return make(spec, samebytes.context("cpu"), samebytes.context("dma"))


def test_a_tensor_made_by_a_foreign_edge() -> None:
    mapper = _mapper(Export, "tensor")
    source = samebytes.context("cpu").allocate((4, 6), "int16")
    source.native[...] = 5
    exported = mapper.map(source, "rw")
    assert isinstance(exported, DMATensor)
    assert exported.parent is source
    assert (exported.handle("offset"), exported.handle("drm_modifier")) == (4096, 0)
    assert exported.info == source.info
    number = exported.handle("dma_fd")
    view = exported.map("cpu")
    assert (view.native == 5).all()
    native = exported.native
    assert exported.close() is False
    assert source.close() is False  # the native holds what was exported
    assert (view.native == 5).all()
    view.close()
    os.fstat(number)
    del native
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_a_frame_made_by_a_foreign_edge() -> None:
    mapper = _mapper(ExportFrame, "frame")
    source = samebytes.context("cpu").allocate_frame("NV12", 16, 8)
    source.planes[1].native[...] = 7
    exported = mapper.map(source)
    assert exported.readonly
    assert [p.handle("offset") for p in exported] == [0, 0]
    natives = exported.native
    view = exported.map("cpu")
    assert (view.planes[1].native == 7).all()
    exported.close()
    with pytest.raises(ClosedError):
        exported.map("cpu")
    del exported
    # The mapping lives on without the descriptors.
    del natives
    assert (view.planes[1].native == 7).all()
    view.close()
    source.close()
