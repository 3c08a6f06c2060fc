# SPDX-License-Identifier: Apache-2.0
"""DMABuffer owns a descriptor. DMAPlane is an array in it, the native object of "dma" tensors."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from functools import partial
from operator import index
from typing import TYPE_CHECKING, NoReturn, Protocol

from samebytes import Fd, Storage
from samebytes.errors import LayoutError, NativeError, UnsupportedObjectError
from samebytes.formats import check_modifier

from ._abi import DMA_BUF_NAME_LEN, DMA_BUF_SET_NAME, ioctl
from ._cpu_access import wait_for_devices
from ._descriptor import Kind, examine, exporter_of, kind_of, name_of
from ._modifiers import LINEAR, is_tiled, keeps_every_bit, modifier_name

if TYPE_CHECKING:
    from samebytes import TensorInfo

__all__ = ["DMABuffer", "DMAPlane", "check_row"]


class _Kept(Protocol):
    """A KeptMapping, as the buffer that has one knows it."""

    writable: bool

    @property
    def is_made(self) -> bool: ...
    def of(self, buffer: DMABuffer) -> Storage: ...


class DMABuffer:
    """One DMA-BUF, or a memfd or file that stands in for one. Immutable.

    It owns its descriptor, which is closed when the last holder is gone: this object, planes of
    it, tensors, mappings, arrays. The kernel frees the memory when no descriptor, mapping or
    device uses it any more.

    Args:
        fd: the descriptor, which becomes the buffer's; if an error is raised, it stays with `fd`.
        keep: an object that must live as long as the memory is used here, for instance the storage
            of the device memory that was exported.
        mappable: False if the exporter says that the CPU cannot map the memory: then nothing tries.
        kept: a KeptMapping; see below.

    Attributes:
        size: in bytes.
        readonly: True if this descriptor does not allow writing.
        is_dma_buf: True if devices can import it.
        mappable: True unless the exporter has said that the CPU cannot map it.
        kept: the mapping that every access by the CPU uses, if it is mapped once for all of them;
            None if each access maps it.
        storage: owns the descriptor; for mappers, which return it from `connect`.

    Raises:
        LayoutError: the descriptor has nothing behind it that can be mapped.
        AccessError: it was opened for writing only.
    """

    __slots__ = ("__weakref__", "_fd", "is_dma_buf", "kept", "mappable", "readonly", "size",
                 "storage")  # fmt: skip

    _fd: Fd
    size: int
    readonly: bool
    is_dma_buf: bool
    mappable: bool
    kept: _Kept | None
    storage: Storage

    def __init__(
        self,
        fd: Fd,
        *,
        keep: object = None,
        mappable: bool = True,
        kept: _Kept | None = None,
    ) -> None:
        found = examine(fd.fileno())
        wait = partial(wait_for_devices, fd) if found.dma_buf else None
        storage = Storage(fd.close, nbytes=found.size, keep=keep, wait=wait)
        self._fill(fd, found.size, found.readonly, found.dma_buf, mappable, kept, storage)

    def lent(self, storage: Storage, *, readonly: bool) -> DMABuffer:
        """The same memory, for one use of it that ends with `storage`.

        Args:
            storage: the storage that planes of it hold in place of this buffer's, which it keeps.
            readonly: True to forbid writing. If writing is allowed, `kept` can be written to, even
                if the descriptor was sealed after it was mapped.
        """
        made = object.__new__(DMABuffer)
        made._fill(
            self._fd, self.size, readonly, self.is_dma_buf, self.mappable, self.kept, storage
        )
        return made

    def _fill(
        self,
        fd: Fd,
        size: int,
        readonly: bool,
        is_dma_buf: bool,
        mappable: bool,
        kept: _Kept | None,
        storage: Storage,
    ) -> None:
        set_ = object.__setattr__
        set_(self, "_fd", fd)
        set_(self, "size", size)
        set_(self, "readonly", readonly)
        set_(self, "is_dma_buf", is_dma_buf)
        set_(self, "mappable", mappable)
        set_(self, "kept", kept)
        set_(self, "storage", storage)

    @property
    def kind(self) -> Kind:
        """The kind of memory: "dma_heap", "udmabuf", "dma_buf", or a stand-in: "memfd", "file"."""
        return kind_of(self.fileno(), self.is_dma_buf)

    @property
    def exporter(self) -> str:
        """The driver that made the DMA-BUF; "" where that is unknown."""
        return exporter_of(self.fileno())

    @property
    def name(self) -> str:
        """The name that the DMA-BUF was given; "" without one."""
        return name_of(self.fileno()) if self.is_dma_buf else ""

    def set_name(self, name: str) -> None:
        """Name the DMA-BUF, for readers of debugfs and /proc/PID/fdinfo, and other processes.

        Args:
            name: printable, up to 31 bytes of UTF-8; "" takes the name away.

        Raises:
            UnsupportedObjectError: a stand-in; memfds have the name they were made with.
            LayoutError: the name is longer, or not printable.
            NativeError: the kernel refuses.
        """
        if not self.is_dma_buf:
            raise UnsupportedObjectError(f"a {self.kind} is not a DMA-BUF and cannot be named")
        # /proc shows the name in its own line, where a newline would begin another one.
        if not name.isprintable() or len(name.encode()) >= DMA_BUF_NAME_LEN:
            raise LayoutError(
                f"{name!r} cannot be the name of a DMA-BUF: a name must be printable and have at "
                f"most {DMA_BUF_NAME_LEN - 1} bytes in UTF-8"
            )
        given = ctypes.create_string_buffer(name.encode())
        try:
            ioctl(self.fileno(), DMA_BUF_SET_NAME, given)
        except OSError as error:
            raise NativeError("DMA_BUF_SET_NAME", error.errno or 0, error.strerror or "") from error

    def fileno(self) -> int:
        """The descriptor, which stays the buffer's: for calls that only look."""
        return self._fd.fileno()

    def dup(self) -> Fd:
        """A descriptor of the caller's own, for a call that keeps or closes it."""
        return self._fd.dup()

    def plane(
        self, info: TensorInfo, *, offset: int = 0, pitch: int | None = None, modifier: int = LINEAR
    ) -> DMAPlane:
        """An array in this buffer; see `DMAPlane`.

        Args:
            info: dtype, shape and strides.
            offset: bytes from the start of the buffer to the first element.
            pitch: bytes from row to row; dense if left out.
            modifier: layout modifier of drm_fourcc.h.
        """
        return DMAPlane(self, info, offset, pitch, modifier)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a DMABuffer is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a DMABuffer is immutable: cannot delete {name}")

    def __repr__(self) -> str:
        mode = ", read-only" if self.readonly else ""
        return f"<DMABuffer {self.kind}, {self.size} bytes, fd {self.fileno()}{mode}>"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DMAPlane:
    """One array in a buffer: a tensor, or one plane of an image. It keeps the memory alive.

    Attributes:
        buffer: the buffer that it lies in.
        info: dtype, shape and byte strides; `TensorInfo(..., opaque=True)` if it is tiled.
        offset: bytes from the start of the buffer to element [0, 0, ...].
        pitch: bytes from row to row, if rows are the first of two or more axes. Left out, it is
            strides[0]; for tiled memory it is the exporter's value, or None.
        modifier: layout modifier of drm_fourcc.h.

    Raises:
        LayoutError: it would reach outside the buffer (of tiled memory: as far as can be
            known), rows or elements would overlap, the pitch contradicts the strides, or tiled
            memory was given strides.
    """

    buffer: DMABuffer
    info: TensorInfo
    offset: int = 0
    pitch: int | None = None
    modifier: int = LINEAR

    def __post_init__(self) -> None:
        derive = object.__setattr__
        derive(self, "modifier", check_modifier(self.modifier))
        derive(self, "offset", _whole(self.offset, "an offset"))
        if is_tiled(self.modifier):
            self._check_tiled()
        else:
            derive(self, "pitch", self._checked_pitch())
            self._check_linear()

    def moved_to(self, buffer: DMABuffer) -> DMAPlane:
        """The same place in a buffer of the same size, without further checks.

        Args:
            buffer: the buffer that the plane then lies in.
        """
        made, derive = object.__new__(DMAPlane), object.__setattr__
        derive(made, "buffer", buffer)
        derive(made, "info", self.info)
        derive(made, "offset", self.offset)
        derive(made, "pitch", self.pitch)
        derive(made, "modifier", self.modifier)
        return made

    def _check_tiled(self) -> None:
        if self.info.strides is not None or self.info.dtype.packed:
            raise LayoutError(
                f"memory of modifier {modifier_name(self.modifier)} is tiled: it has no strides; "
                "describe it by TensorInfo(..., opaque=True)"
            )
        size, info = self.buffer.size, self.info
        if not 0 <= self.offset < size:
            raise LayoutError(f"offset {self.offset} is outside a buffer of {size} bytes")
        # How tiles lie is the driver's to know, but all elements are somewhere in them.
        if keeps_every_bit(self.modifier) and self.offset + info.nbytes > size:
            raise LayoutError(
                f"{info} at offset {self.offset} takes {info.nbytes} bytes at least, but the "
                f"buffer has {size}"
            )
        if self.pitch is not None:
            pitch = _whole(self.pitch, "a pitch")
            check_row(pitch, info)
            if pitch < 0:
                raise LayoutError(
                    f"pitch {pitch}: rows of tiles cannot be stored bottom up, so it "
                    "must be positive"
                )

    def _checked_pitch(self) -> int | None:
        strides = self.info.strides
        known = strides[0] if strides is not None and len(strides) > 1 else None
        if self.pitch is None:
            return known
        if known is None:
            raise LayoutError(f"an array of shape {self.info.shape} has no rows and no pitch")
        check_row(_whole(self.pitch, "a pitch"), self.info)
        if self.pitch != known:
            raise LayoutError(f"pitch {self.pitch} contradicts strides {strides}")
        return known

    def _check_linear(self) -> None:
        info = self.info
        if info.strides is None and not info.dtype.packed:
            raise LayoutError(
                "linear memory needs strides: pass them, or the modifier if the memory is tiled"
            )
        if info.overlaps:
            raise LayoutError(
                f"elements of shape {info.shape} overlap with strides {info.strides}: rows are "
                "longer than the pitch"
            )
        low, high = info.extent
        if self.offset + low < 0 or self.offset + high > self.buffer.size:
            raise LayoutError(
                f"{info} at offset {self.offset} takes bytes {self.offset + low} to "
                f"{self.offset + high} of a buffer of {self.buffer.size}"
            )


def check_row(pitch: int, info: TensorInfo) -> None:
    """Raise LayoutError if a row of `info` has more bytes than the pitch."""
    row = (math.prod(info.shape[1:]) * info.dtype.bits + 7) // 8
    if abs(pitch) < row:
        raise LayoutError(f"the pitch is {pitch} bytes, but a row of {info} has {row}")


def _whole(value: int, what: str) -> int:
    try:
        return index(value)
    except TypeError:
        raise LayoutError(f"{what} must be an integer number of bytes, not {value!r}") from None
