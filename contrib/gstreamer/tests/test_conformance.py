# SPDX-License-Identifier: Apache-2.0
"""The GStreamer backend in the suites that every backend inherits."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import Structure, byref, c_int, c_size_t, c_void_p
from itertools import count
from typing import Any

import gi
import numpy as np

from samebytes import ImageInfo, TensorInfo
from samebytes.testing import (
    ArrayMemory,
    ContextSuite,
    FrameSuite,
    MapperSuite,
    Memory,
    PluginSuite,
    TensorSuite,
)
from samebytes_gstreamer import GStreamerPlane

for namespace in ("Gst", "GstVideo"):
    gi.require_version(namespace, "1.0")
from gi.repository import Gst, GstVideo  # noqa: E402  # after their versions

Array = np.ndarray[Any, Any]

# Of its own, so that the mappings are compared with what GStreamer says, and not with themselves.
_gst = ctypes.CDLL("libgstreamer-1.0.so.0")
_DESTROY = ctypes.CFUNCTYPE(None, c_void_p)
_gst.gst_memory_new_wrapped.restype = c_void_p
_gst.gst_memory_new_wrapped.argtypes = [
    c_int, c_void_p, c_size_t, c_size_t, c_size_t, c_void_p, _DESTROY,
]  # fmt: skip
_gst.gst_buffer_append_memory.argtypes = [c_void_p, c_void_p]
_gst.gst_memory_map.argtypes = [c_void_p, c_void_p, c_int]
_gst.gst_memory_unmap.argtypes = [c_void_p, c_void_p]
_gst.gst_mini_object_ref.argtypes = [c_void_p]
_gst.gst_mini_object_ref.restype = c_void_p
_gst.gst_mini_object_unref.argtypes = [c_void_p]

_READ, _READONLY = 1, 2

NAMES = {"NV12": "NV12", "I420": "I420", "P010": "P010_10LE"}

_lent: dict[int, Array] = {}
_keys = count(1)


def _given_back(key: int) -> None:
    del _lent[key]


_give_back = _DESTROY(_given_back)


class GstMapInfo(Structure):
    """gst/gstmemory.h."""

    _fields_ = (
        ("memory", c_void_p), ("flags", c_int), ("data", c_void_p), ("size", c_size_t),
        ("maxsize", c_size_t), ("user_data", c_void_p * 4), ("reserved", c_void_p * 4),
    )  # fmt: skip


class Looking:
    """A mapping of the test's own, by pointer, so that it writes where GStreamer forbids it.

    Attributes:
        __array_interface__: the bytes.
    """

    def __init__(self, memory: Any, keep: Any) -> None:
        self.pointer = _gst.gst_mini_object_ref(hash(memory))
        self.keep = keep
        self.info = GstMapInfo()
        assert _gst.gst_memory_map(self.pointer, byref(self.info), _READ)
        readonly = bool(ctypes.c_uint.from_address(self.pointer + 16).value & _READONLY)
        self.__array_interface__ = {
            "shape": (self.info.size,), "typestr": "|u1", "data": (self.info.data, readonly),
            "version": 3,
        }  # fmt: skip
        # The pointer of system memory stays as it is; a mapping would keep others from writing.
        _gst.gst_memory_unmap(self.pointer, byref(self.info))

    def __del__(self, unref: Any = _gst.gst_mini_object_unref) -> None:
        unref(self.pointer)


def bytes_of(memory: Any, keep: Any) -> Array:
    return np.asarray(Looking(memory, keep))


def append(buffer: Any, array: Array) -> None:
    """A memory over what an array spans, which it keeps."""
    info = TensorInfo.of(array)
    low, high = info.extent
    address = array.__array_interface__["data"][0] + low
    key = next(_keys)
    _lent[key] = array
    flags = 0 if array.flags.writeable else _READONLY
    memory = _gst.gst_memory_new_wrapped(flags, address, high - low, 0, high - low, key, _give_back)
    _gst.gst_buffer_append_memory(hash(buffer), memory)


class BufferMemory(Memory):
    """Buffers with a VideoMeta; tensors are planes of a memory."""

    memory_type = "gstreamer"
    host_visible = False
    readonly_enforced = False

    def over(self, array: Array) -> Any:
        buffer = Gst.Buffer.new()
        append(buffer, array)
        info = TensorInfo.of(array)
        return GStreamerPlane(buffer.get_memory(0), info, -info.extent[0], buffer)

    def view(self, native: Any) -> Array:
        return np.ndarray(
            native.info.shape, native.info.dtype.carrier, bytes_of(native.memory, native),
            native.offset, native.info.strides,
        )  # fmt: skip

    def frame_over(self, arrays: Sequence[Array], image: ImageInfo) -> Any:
        buffer = Gst.Buffer.new()
        offsets, pitches = [], []
        for array in arrays:
            offsets.append(buffer.get_size())
            pitches.append(array.strides[0])
            append(buffer, array)
        _add_meta(buffer, image, offsets, pitches)
        return buffer

    def views(self, native: Any) -> tuple[Array, ...]:
        meta = GstVideo.buffer_get_video_meta(native)
        # GStreamer's names of formats are aliases of ours.
        name = GstVideo.VideoFormat.to_string(meta.format)
        image = ImageInfo.of(name, meta.width, meta.height)
        count = len(image.format.planes)
        starts, parts = [0], []
        for number in range(native.n_memory()):
            parts.append(bytes_of(native.peek_memory(number), native))
            starts.append(starts[-1] + parts[-1].size)
        found = []
        for layout, pitch, offset in zip(image.plane_layouts(), list(meta.stride)[:count],
                                         list(meta.offset)[:count], strict=True):  # fmt: skip
            which = max(n for n, start in enumerate(starts[:-1]) if start <= offset)
            strides = (pitch, *layout.strides[1:])
            found.append(np.ndarray(layout.shape, layout.dtype, parts[which],
                                    offset - starts[which], strides))  # fmt: skip
        return tuple(found)


class OneMemory(BufferMemory):
    """Buffers as most elements make them: one memory, rows of a multiple of four bytes."""

    def make_frame(self, image: ImageInfo) -> Any:
        caps = Gst.Caps.from_string(
            f"video/x-raw,format={NAMES[str(image.format)]},width={image.width},"
            f"height={image.height},framerate=0/1"
        )
        info = GstVideo.VideoInfo.new_from_caps(caps)
        buffer = Gst.Buffer.new_allocate(None, info.size, None)
        count = len(image.format.planes)
        _add_meta(buffer, image, list(info.offset)[:count], list(info.stride)[:count])
        return buffer

    frame_over = Memory.frame_over


class TargetMemory(BufferMemory):
    """Memory that is mapped for reading is marked read-only in GStreamer."""

    readonly_enforced = True


def _add_meta(buffer: Any, image: ImageInfo, offsets: list[int], pitches: list[int]) -> None:
    format_ = GstVideo.VideoFormat.from_string(NAMES[str(image.format)])
    rest = [0] * (4 - len(offsets))
    GstVideo.buffer_add_video_meta_full(
        buffer, 0, format_, image.width, image.height, len(offsets), offsets + rest, pitches + rest
    )


CPU = ArrayMemory()
BUFFER = BufferMemory()
TARGET = TargetMemory()

IMAGES = (
    ImageInfo.of("NV12", 64, 32),
    ImageInfo.of("I420", 47, 31),
    ImageInfo.of("P010", 16, 8),
)
FEW_IMAGES = IMAGES[:2]
LAYOUTS = (
    TensorInfo("uint8", (6, 8, 3)),
    TensorInfo("uint8", (6, 8), (24, 1)),
    TensorInfo("uint8", (6, 8), (-24, 1)),
    TensorInfo("float32", (2, 3, 4, 5)),
    TensorInfo("int32", (9,)),
)


class TestPlugin(PluginSuite):
    plugin = "gstreamer"


class TestContext(ContextSuite):
    memory = BUFFER


class TestTensors(TensorSuite):
    memory = BUFFER
    cases = LAYOUTS


class TestFrames(FrameSuite):
    memory = BUFFER
    cases = IMAGES


class TestTensorsToCpu(MapperSuite):
    source = BUFFER
    target = CPU
    mixed_access = False  # gst_memory_map() locks
    cases = LAYOUTS


class TestFramesToCpu(MapperSuite):
    source = BUFFER
    target = CPU
    mixed_access = False  # gst_memory_map() locks
    cases = IMAGES


class TestFramesInOneMemoryToCpu(MapperSuite):
    source = OneMemory()
    target = CPU
    mixed_access = False  # gst_memory_map() locks
    cases = FEW_IMAGES


class TestTensorsFromCpu(MapperSuite):
    source = CPU
    target = TARGET
    cases = LAYOUTS


class TestFramesFromCpu(MapperSuite):
    source = CPU
    target = TARGET
    cases = IMAGES
