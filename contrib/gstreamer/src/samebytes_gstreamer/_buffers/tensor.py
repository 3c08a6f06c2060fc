# SPDX-License-Identifier: Apache-2.0
"""GStreamerTensor: a GstMemory, or one plane of a buffer, as a tensor."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from samebytes import Tensor, TensorInfo
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import read_slot

from .._abi.gi import Gst, pointer_of
from .._abi.libraries import gst
from .._memory.memory import extent_of, is_plain, is_writable
from .._memory.plane import GStreamerPlane

if TYPE_CHECKING:
    from typing import Self

__all__ = ["ADVICE", "GStreamerTensor", "buffer_in", "memory_in"]

ADVICE = (
    "it was mapped for reading, is marked read-only, or somebody else holds the buffer too: an "
    "element, a sample, a second Python object. Ask again when they have released it. "
    "Python's object in a pad probe is a second holder"
)


# The slot of the base class, which the property of the same name stands before.
_slot: Any = Tensor.readonly  # type: ignore[misc]  # the slot itself


def memory_in(native: Any) -> Any:
    """The Gst.Memory of a tensor's native object."""
    return native.memory if isinstance(native, GStreamerPlane) else native


def buffer_in(keep: Any) -> int:
    """The GstBuffer* of a Gst.Buffer or Gst.Sample, or 0."""
    if isinstance(keep, Gst.Sample):
        return gst.gst_sample_get_buffer(pointer_of(keep)) or 0
    return pointer_of(keep) if isinstance(keep, Gst.Buffer) else 0


class GStreamerTensor(Tensor):
    """An array in a GstMemory. The CPU cannot read it where it lies: `map("cpu")` maps it.

    `native` is a GStreamerPlane, or the Gst.Memory that was wrapped; the elements are its bytes
    then.

    handle(): "gst_memory", "offset" (bytes from the first byte of the memory), "pitch" if there
    are rows, "drm_modifier".

    Attributes:
        readonly: True if a write would be noticed elsewhere; evaluated each time, since elements
            release a buffer later.
    """

    __slots__ = ()

    readonly_advice = ADVICE

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over a Gst.Memory or a GStreamerPlane.

        A memory alone does not keep its buffer from going back to the pool; wrap the buffer or the
        sample if the bytes are to stay.

        Raises:
            UnsupportedObjectError: it is neither.
        """
        memory = memory_in(native)
        if not isinstance(memory, Gst.Memory) or not pointer_of(memory):
            raise UnsupportedObjectError(f"{native!r} is not a Gst.Memory")
        return cls.borrowed(native, context_of_memory(pointer_of(memory)))

    @property
    def readonly(self) -> bool:  # evaluated each time
        if read_slot(_slot, self):
            return True
        native = self.native
        keep = native.keep if isinstance(native, GStreamerPlane) else None
        return not is_writable(pointer_of(memory_in(native)), buffer_in(keep))

    @readonly.setter
    def readonly(self, value: bool) -> None:
        _slot.__set__(self, value)

    def _describe(self) -> TensorInfo:
        native = self.native
        if isinstance(native, GStreamerPlane):
            return native.info
        memory = pointer_of(native)
        return TensorInfo("uint8", (extent_of(memory).size,), opaque=not is_plain(memory))

    def _handle(self, key: str) -> int | None:
        native = self.native
        if key == "gst_memory":
            return pointer_of(memory_in(native))
        if isinstance(native, GStreamerPlane):
            strides = native.info.strides
            if key == "pitch" and strides is not None and len(strides) > 1:
                return strides[0]
            if key == "drm_modifier":
                return native.modifier
        if key == "offset":
            return native.offset if isinstance(native, GStreamerPlane) else 0
        return super()._handle(key)


@cache
def _contexts() -> Any:
    from . import context

    return context


def context_of_memory(memory: int) -> Any:
    """The context that a GstMemory* belongs to."""
    return _contexts().context_of_memory(memory)
