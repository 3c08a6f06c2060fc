# SPDX-License-Identifier: Apache-2.0
"""TensorSuite: the rules for tensors of one memory type."""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given

import samebytes
from samebytes import Tensor, TensorInfo
from samebytes.errors import (
    LayoutError,
    NotHostVisibleError,
    SamebytesError,
)

from . import strategies
from ._examples import DTYPES, repeatable
from ._layouts import EXAMPLES, Layout
from ._lifetimes import assert_holds
from ._memory import Memory, address_of, fill
from ._objects import ObjectSuite, choose_tests
from ._subjects import AllocatedMemory, Regions, holds
from .rules.allocation import close_gives_back, held_memory_lives_on
from .rules.lifetimes import array_keeps_its_memory
from .rules.readonly import native_stays_readonly
from .rules.regions import regions

__all__ = ["TensorSuite"]


class TensorSuite(ObjectSuite):
    """Tests of tensors. Inherit it once for each memory type that has native tensors.

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
        if not hasattr(cls, "memory"):  # a base class of the author's own
            return
        memory = cls.memory
        over = type(memory).over is not Memory.over
        choose_tests(
            cls,
            TensorSuite,
            test_arrays_share_the_memory=memory.host_visible,
            test_arrays_of_read_only_tensors=memory.host_visible,
            test_conversions_are_counted=memory.host_visible,
            test_no_arrays_of_invisible_memory=not memory.host_visible,
            test_busy=memory.allocates and memory.natives_hold,
            test_what_is_held_lives_on=memory.allocates and memory.natives_hold,
            test_an_array_keeps_its_memory=memory.allocates,
            test_the_end_of_a_block=memory.allocates,
            test_natives_outlive_close=memory.allocates and not memory.natives_hold,
            test_close_while_another_thread_drops=memory.allocates,
            test_dtypes=memory.allocates and memory.dtypes is not None,
            test_read_only_natives=type(memory).make_readonly is not Memory.make_readonly,
            test_declared_layouts=over and any(memory.layouts.declared()),
            test_any_layout=over,
        )

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give the tests their cases, oddities of layouts and element types."""
        super().pytest_generate_tests(metafunc)
        if "oddity" in metafunc.fixturenames:
            metafunc.parametrize("oddity", [o for o, _ in self.memory.layouts.declared()])
        if "dtype_name" in metafunc.fixturenames:
            metafunc.parametrize("dtype_name", DTYPES)

    def tensor(self, info: TensorInfo) -> Tensor:
        """A tensor over a new native one.

        Args:
            info: dtype, shape and strides.
        """
        return self.memory.tensor(self.memory.make(info))

    def exchanged(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """The array that numpy imports by DLPack, on the CPU even if the tensor is on a device.

        Args:
            tensor: of the memory type that is tested.
        """
        if self.memory.dlpack_device == 1:
            return np.from_dlpack(tensor)
        return np.from_dlpack(tensor, device="cpu")

    def test_info(self, case: TensorInfo) -> None:
        """The layout is that of the native object."""
        tensor = self.tensor(case)
        assert (tensor.info.dtype, tensor.shape) == (case.dtype, case.shape)
        assert tensor.info is tensor.info
        if not case.dtype.packed:
            assert (tensor.strides is None) == (case.strides is None)
            assert (case.strides is None) == self.memory.opaque, "Memory.opaque says otherwise"
        if self.memory.opaque:
            assert type(tensor.context).may_be_opaque
        if self.memory.host_visible:
            assert tensor.strides == self.memory.view(tensor.native).strides
        assert str(case.dtype) in repr(tensor)

    def test_arrays_share_the_memory(self, case: TensorInfo) -> None:
        """Rule 1: numpy.asarray and DLPack give the bytes in place."""
        tensor = self.tensor(case)
        samebytes.reset_stats()
        view = self.memory.view(tensor.native)
        expected = fill(view, 1)
        for array in (np.asarray(tensor), self.exchanged(tensor), tensor.host_array()):
            assert address_of(array) == address_of(view)
            np.testing.assert_array_equal(array, expected)
        later = fill(view, 40)
        np.testing.assert_array_equal(array, later)
        assert tensor.__dlpack_device__()[0] == self.memory.dlpack_device
        assert samebytes.stats().copies == 0

    def test_no_arrays_of_invisible_memory(self, case: TensorInfo) -> None:
        """Rule 1: where the CPU cannot read the bytes in place, exporters raise BufferError."""
        tensor = self.tensor(case)
        with pytest.raises(BufferError):
            np.asarray(tensor)
        with pytest.raises(BufferError):
            tensor.__dlpack__(dl_device=(1, 0))
        with pytest.raises(NotHostVisibleError):
            tensor.host_array()
        # 1, the CPU, is the default: nothing was declared.
        if self.memory.dlpack_device == 1:
            with pytest.raises(BufferError):
                tensor.__dlpack__()
        else:  # a capsule for consumers on the device
            assert tensor.__dlpack_device__()[0] == self.memory.dlpack_device
            assert "dltensor" in repr(tensor.__dlpack__())

    def test_arrays_of_read_only_tensors(self, case: TensorInfo) -> None:
        """Rule 10: numpy.asarray and DLPack of a read-only tensor cannot be written either."""
        reading = self.tensor(case).map(self.memory.context().node)
        assert not np.asarray(reading).flags.writeable
        assert not self.exchanged(reading).flags.writeable
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
        """Rule 2: close() reports whether memory is released: it is, unless it is held."""
        close_gives_back(AllocatedMemory(self.memory, case))

    def test_what_is_held_lives_on(self, case: TensorInfo) -> None:
        """Rule 2: after False, holders read and write the right bytes; the last one releases."""
        held_memory_lives_on(AllocatedMemory(self.memory, case))

    def test_an_array_keeps_its_memory(self, case: TensorInfo) -> None:
        """Rule 3: a view alone keeps the memory of a tensor that was dropped."""
        array_keeps_its_memory(AllocatedMemory(self.memory, case))

    def test_regions(self, case: TensorInfo) -> None:
        """Rule 1: a region of a native has exactly its rows, or is refused by name."""
        holds(regions, Regions(self.memory, case))

    def test_the_end_of_a_block(self, case: TensorInfo) -> None:
        """Rule 2: after the end of a block, views that are held keep their bytes."""
        for error in (None, KeyError("of the user")):
            tensor = self.memory.context().allocate(case.shape, case.dtype)
            storage = weakref.ref(tensor.storage)
            view = held = self.memory.view(tensor.native)
            expected = fill(view, 11)
            with suppress(KeyError), tensor:
                if error is not None:
                    raise error
            assert tensor.closed
            assert_holds((held,), [expected])
            del view, held
            assert storage() is None, "the last holder did not give it back"

    def test_natives_outlive_close(self, case: TensorInfo) -> None:
        """Rule 2: where the framework counts references to memory, close() only drops one."""
        tensor = self.memory.context().allocate(case.shape, case.dtype)
        view = self.memory.view(tensor.native)
        expected = fill(view, 11)
        tensor.close()
        np.testing.assert_array_equal(view, expected)

    def test_read_only_natives(self, case: TensorInfo) -> None:
        """Rule 10: natives that the framework made read-only are and stay read-only here."""
        native_stays_readonly(self.memory.tensor(self.memory.make_readonly(case)))

    def test_dtypes(self, dtype_name: str) -> None:
        """Rule 5: the declared element types can be allocated; the others are refused."""
        context, declared = self.memory.context(), self.memory.dtypes or ()
        if dtype_name in declared:
            assert str(context.allocate((4, 4), dtype_name).dtype) == dtype_name
        else:
            with pytest.raises(SamebytesError):
                context.allocate((4, 4), dtype_name)

    def test_declared_layouts(self, oddity: str) -> None:
        """Rules 1 and 5: each declared oddity is served or refused, as declared."""
        self._wrap(EXAMPLES[oddity], served=getattr(self.memory.layouts, oddity))

    def test_any_layout(self) -> None:
        """Rules 1 and 5: any layout is kept exactly or refused, as declared."""

        @repeatable
        @given(layout=strategies.layouts(readonly=True))
        def check(layout: Layout) -> None:
            self._wrap(layout)

        check()

    def _wrap(self, layout: Layout, *, served: bool = False) -> None:
        info, array = layout.info, layout.array()
        try:
            native = self.memory.over(array)
        except Exception:
            assert not served, "the framework does not take what is declared to be served"
            return
        try:
            tensor = self.memory.tensor(native)
        except LayoutError:
            assert not served, "refused, although it is declared to be served"
            return
        if tensor.shape != info.shape or (
            info.size > 1 and address_of(self.memory.view(native)) != address_of(array)
        ):
            # The framework's constructor normalises layouts, or keeps copies of odd ones.
            assert not served, "the framework's object does not lie in the given memory"
            return
        assert not self.memory.layouts.refuses(layout), f"{info} is declared not to be served"
        if info.size:
            assert tensor.readonly or not layout.readonly, "read-only memory became writable"
            array.flags.writeable = True
            fill(array, 5)
            np.testing.assert_array_equal(self.memory.view(native), array)
