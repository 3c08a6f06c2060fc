# SPDX-License-Identifier: Apache-2.0
"""The openvino.Tensor that we hand out, and the count of its users in C++.

Memory that they still use after its last holder in Python is gone is kept here until they
do not. OpenVINO counts its users, but has no function that returns the count. The path to it from
the Python object is

    object ──▶ ov::Tensor ──▶ control block of its std::shared_ptr<ov::ITensor> ──▶ use count

The first step is pybind11's layout of an object with one base, the second that of the public header
openvino/runtime/tensor.hpp, the third that of the C++ library. None of them is guaranteed. So one
tensor is tested first, by reads that fail if an address is wrong: unless its count goes up when a
region is cut out of it, and down when that is dropped, counts are unknown, and never read. The same
test is made on the first openvino.RemoteTensor that samebytes makes over memory of others: behind
its object is an ov::RemoteTensor, which is an ov::Tensor.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from ctypes import addressof, c_uint64
from functools import cache, partial
from typing import Any, ClassVar

import openvino

from samebytes.errors import AccessError
from samebytes.plugins import Loan, sweep_loans

__all__ = [
    "HEAD",
    "NO_USES",
    "USES",
    "WORDS",
    "PinnedTensor",
    "ReadOnlyTensor",
    "count_follows",
    "counted_at",
    "is_known",
    "keep_used",
    "other_uses",
    "tensor_class",
    "waiting",
]

HEAD = object.__basicsize__
"""Bytes of a Python object before what pybind11 adds: the address of the ov::Tensor."""

# 2**52 bytes are all that a process can address.
WORDS = memoryview((c_uint64 * (1 << 49)).from_address(0)).cast("B").cast("Q")
"""This process' memory in words of 64 bits: that at an address is `WORDS[address >> 3]`. An index
takes a fifth of the time of ctypes' `from_address`."""

USES = 0xFFFF_FFFF
"""The half of its word in which the use count lies; the count of weak references is the other."""

_NONE = c_uint64(0)

NO_USES = addressof(_NONE) >> 3
"""The index in WORDS of a count that is 0, for a tensor whose uses are not counted."""

# Bytes of an ov::Tensor before the address of its control block, and of that before the count.
_CONTROL = _COUNT = 8


def other_uses(native: Any) -> int:
    """The number of users of an openvino.Tensor's memory besides that Python object.

    It is 0 if counts are not known, or the object was never filled.
    """
    if not is_known():
        return 0
    return max(0, (WORDS[counted_at(native)] & USES) - 1)


def counted_at(native: Any) -> int:
    """The index in WORDS of a tensor's use count, valid as long as the tensor is used.

    Args:
        native: an openvino.Tensor or openvino.RemoteTensor, whose counts are known.
    """
    tensor = WORDS[(id(native) + HEAD) >> 3]
    control = WORDS[(tensor + _CONTROL) >> 3] if tensor else 0
    return (control + _COUNT) >> 3 if control else NO_USES


@cache
def is_known() -> bool:
    """True if the counts of openvino.Tensors can be read in this process."""
    # The halves of a word lie as on a little-endian machine.
    if sys.implementation.name != "cpython" or sys.maxsize < 2**32 or sys.byteorder != "little":
        return False
    tensor = openvino.Tensor(openvino.Type.u8, openvino.Shape([2]))
    region = partial(openvino.Tensor, tensor, openvino.Coordinate([0]), openvino.Coordinate([1]))
    return bool(count_follows(tensor, region))


def count_follows(native: Any, use: Callable[[], Any]) -> bool | None:
    """True if what is read as a tensor's use count is that; None if it cannot be tested now.

    Args:
        native: a tensor.
        use: makes an object that is one more user of it.
    """
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None

    def read(address: int, size: int = 8) -> int:
        return int.from_bytes(os.pread(memory, size, address), sys.byteorder)

    def users() -> int:
        return read(read(read(id(native) + HEAD) + _CONTROL) + _COUNT, 4)

    try:
        alone = users()
        user = use()
        shared = users()
        del user
        return (alone, shared, users()) == (1, 2, 1)
    except (OSError, OverflowError):  # no such address
        return False
    finally:
        os.close(memory)


waiting: set[int] = set()
"""The id of each object that is kept."""


def keep_used(held: Any, is_used: Callable[[Any], object]) -> None:
    """Keep an object for as long as OpenVINO uses its memory.

    OpenVINO does not report when the last use ends. So each sweep asks, and whoever drops such an
    object sweeps while any are kept.

    Args:
        held: what is kept. Its finalizer may pass it itself.
        is_used: as `in_use` of `samebytes.plugins.Loan.keep_while`; it may return a count.
    """
    try:
        waiting.add(id(held))
        Loan.keep_while(partial(_waits, is_used), held)
    except BaseException:  # of a signal handler: whoever drops it keeps it once more
        waiting.discard(id(held))
        raise


def _waits(is_used: Callable[[Any], object], held: Any) -> bool:
    if is_used(held):
        return True
    waiting.discard(id(held))
    return False


class PinnedTensor(openvino.Tensor):
    """An openvino.Tensor that keeps its memory alive by itself, and knows if it is read-only.

    A tensor over an array holds the array, but only as a Python object: a region that is cut out
    of it, and an openvino.InferRequest that it is set on, hold OpenVINO's part of it, which knows
    the address alone. So where OpenVINO still uses it when its last Python holder is gone, it is
    kept until OpenVINO does not.

    Attributes:
        pin: what the memory lies in, if it is a region of another tensor.
        readonly: it may not be written through; kept when samebytes wraps it again.
    """

    __slots__ = ("pin",)

    pin: Any
    readonly: ClassVar[bool] = False

    if is_known():
        # `other_uses`, spelled out: it runs for each tensor.
        def __del__(
            self, words: Any = WORDS, address: Any = id, head: int = HEAD, uses: int = USES
        ) -> None:
            try:
                tensor = words[(address(self) + head) >> 3]
                # 0 if its constructor raised.
                if not tensor or words[(words[(tensor + 8) >> 3] + 8) >> 3] & uses == 1:
                    if waiting:
                        sweep_loans()
                    return
            except BaseException:  # of a signal handler
                keep_used(self, other_uses)
                raise
            keep_used(self, other_uses)

    def copy_to(self, target_tensor: Any) -> None:
        """Copy the elements, as openvino.Tensor does, into a target that may be written.

        Args:
            target_tensor: of the same shape and element type.

        Raises:
            AccessError: the target is a read-only tensor of samebytes'.
        """
        if isinstance(target_tensor, ReadOnlyTensor):
            raise _no_writing("copy_to() into")
        super().copy_to(target_tensor)


class ReadOnlyTensor(PinnedTensor):
    """A tensor whose memory may not be written, and may be mapped so that writing is a signal.

    OpenVINO has no such tensors. What Python can see is an error here: `data` is a read-only
    array, and nothing can be copied into the tensor. C++ writes to it all the same, where it is
    the output of an openvino.InferRequest, or the target of an openvino.Tensor's copy_to().
    """

    __slots__ = ()

    readonly: ClassVar[bool] = True

    @property
    def data(self) -> Any:
        """An array over the elements, which cannot be written."""
        array = super().data
        array.flags.writeable = False
        return array

    def copy_from(self, *arguments: Any, **named: Any) -> None:
        """Nothing can be copied into it.

        Args:
            arguments: as for `openvino.Tensor.copy_from`.
            named: the same, by name.

        Raises:
            AccessError: always.
        """
        raise _no_writing("copy_from() of")


def tensor_class(readonly: bool) -> type[PinnedTensor]:
    """The class of tensors that may be written, or of those that may not."""
    return ReadOnlyTensor if readonly else PinnedTensor


def _no_writing(what: str) -> AccessError:
    return AccessError(
        f"{what} a read-only openvino.Tensor: its memory was received, sent, or mapped with access "
        '"r"; map what it comes from with access "w" or "rw" if that may be written'
    )
