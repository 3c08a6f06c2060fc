# SPDX-License-Identifier: Apache-2.0
"""TensorSuite: the rules for tensors of one memory type."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

import samebytes
from samebytes import Tensor, TensorInfo
from samebytes.errors import BusyError, LayoutError

from ._memory import address_of, fill
from ._objects import ObjectSuite, choose_tests

__all__ = ["TensorSuite"]


class TensorSuite(ObjectSuite):
    """Inherit it once for each memory type that has native tensors.

    Class attributes:
        memory: the memory type.
        cases: layouts that its natives can have; each with more than one element, since some
            tests change them.
    """

    cases: ClassVar[tuple[TensorInfo, ...]] = (
        TensorInfo("uint8", (6, 8, 3)),
        TensorInfo("float32", (1, 3, 4, 4)),
    )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        visible = cls.memory.host_visible
        choose_tests(
            cls,
            TensorSuite,
            test_arrays_share_the_memory=visible,
            test_arrays_of_read_only_tensors=visible,
            test_conversions_are_counted=visible,
            test_no_arrays_of_invisible_memory=not visible,
            test_busy=cls.memory.allocates,
        )

    def tensor(self, info: TensorInfo) -> Tensor:
        """A tensor over a new native one."""
        return self.memory.tensor(self.memory.make(info))

    def test_info(self, case: TensorInfo) -> None:
        """The layout is that of the native object."""
        tensor = self.tensor(case)
        assert (tensor.info.dtype, tensor.shape) == (case.dtype, case.shape)
        assert tensor.info is tensor.info
        if self.memory.host_visible:
            assert tensor.strides == self.memory.view(tensor.native).strides
        assert str(case.dtype) in repr(tensor)

    def test_arrays_share_the_memory(self, case: TensorInfo) -> None:
        """Rule 1: numpy.asarray and DLPack give the bytes in place."""
        tensor = self.tensor(case)
        samebytes.reset_stats()
        view = self.memory.view(tensor.native)
        expected = fill(view, 1)
        for array in (np.asarray(tensor), np.from_dlpack(tensor), tensor.host_array()):
            assert address_of(array) == address_of(view)
            np.testing.assert_array_equal(array, expected)
        later = fill(view, 40)
        np.testing.assert_array_equal(array, later)
        assert tensor.__dlpack_device__() == (1, 0)
        assert samebytes.stats().copies == 0

    def test_no_arrays_of_invisible_memory(self, case: TensorInfo) -> None:
        """Rule 1: where the CPU cannot read the bytes in place, exporters raise BufferError."""
        tensor = self.tensor(case)
        with pytest.raises(BufferError):
            np.asarray(tensor)
        with pytest.raises(BufferError):
            tensor.__dlpack__()

    def test_arrays_of_read_only_tensors(self, case: TensorInfo) -> None:
        """Rule 10: numpy.asarray and DLPack of a read-only tensor cannot be written either."""
        reading = self.tensor(case).map(self.memory.context().node)
        assert not np.asarray(reading).flags.writeable
        assert not np.from_dlpack(reading).flags.writeable
        with pytest.raises(BufferError):
            reading.__dlpack__()  # a legacy capsule cannot say that it is read-only

    def test_conversions_are_counted(self, case: TensorInfo) -> None:
        """Rule 1: a conversion is a copy: counted, and refused with copy=False."""
        tensor = self.tensor(case)
        samebytes.reset_stats()
        np.asarray(tensor, dtype="complex128")
        assert samebytes.stats().copies == 1
        with pytest.raises(LayoutError):
            np.asarray(tensor, dtype="complex128", copy=False)

    def test_busy(self, case: TensorInfo) -> None:
        """Rule 2: close() of memory in use raises BusyError and leaves the tensor as it was."""
        tensor = self.memory.context().allocate(case.shape, case.dtype)
        fill(self.memory.view(tensor.native), 11)
        held = self.memory.view(tensor.native)[1:]
        info, where = tensor.info, tensor.handle()
        for _ in range(2):
            with pytest.raises(BusyError, match="still uses this memory"):
                tensor.close()
            with pytest.raises(BusyError), tensor:
                pass
            assert not tensor.closed
            assert (tensor.info, tensor.handle()) == (info, where)
            assert tensor.storage is tensor.map(tensor.context.node).storage
        held[...] = 0
        assert not self.memory.view(tensor.native)[1:].any()
        with pytest.raises(KeyError, match="of the user"), tensor:
            raise KeyError("of the user")
        assert not tensor.closed, "the error in flight came first"
        del held
        tensor.close()
        assert tensor.closed
