# SPDX-License-Identifier: Apache-2.0
"""DMABuffer: the owner of one descriptor, and what is known of the memory behind it."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from samebytes.errors import LayoutError, NativeError, UnsupportedObjectError
from samebytes.plugins import Fd, Storage

from ._abi import DMA_BUF_NAME_LEN, DMA_BUF_SET_NAME, ioctl
from ._descriptor import Kind, examine, exporter_of, kind_of, name_of
from ._fences import wait_for_devices
from ._modifiers import LINEAR
from ._plane import DMAPlane

if TYPE_CHECKING:
    from samebytes import TensorInfo

    from ._kept import KeptMapping

__all__ = ["DMABuffer"]


class DMABuffer:
    """One DMA-BUF, or a memfd or file that stands in for one. Immutable.

    It owns its descriptor, which is closed when the last holder is gone: this object, planes of
    it, tensors, mappings, arrays. The kernel frees the memory when no descriptor, mapping or
    device uses it any more.

    Args:
        fd: the descriptor, which becomes the buffer's; if an error is raised, it stays with `fd`.
        keep: what must live as long as the memory is used here, for instance the storage of the
            device memory that was exported.
        mappable: False where the exporter says that the CPU cannot map the memory: then nothing
            tries.
        kept: see below.

    Attributes:
        size: in bytes.
        readonly: this descriptor does not allow writing.
        is_dma_buf: devices can import it.
        mappable: the exporter has not said that the CPU cannot map it.
        kept: the mapping that every access by the CPU uses, where it is mapped once for all of
            them; None where each access maps it.
        storage: owns the descriptor; for mappers, which return it from `connect`.

    Raises:
        LayoutError: nothing that can be mapped is behind the descriptor.
        AccessError: it was opened for writing alone.
    """

    __slots__ = ("__weakref__", "_fd", "is_dma_buf", "kept", "mappable", "readonly", "size",
                 "storage")  # fmt: skip

    _fd: Fd
    size: int
    readonly: bool
    is_dma_buf: bool
    mappable: bool
    kept: KeptMapping | None
    storage: Storage

    def __init__(
        self,
        fd: Fd,
        *,
        keep: object = None,
        mappable: bool = True,
        kept: KeptMapping | None = None,
    ) -> None:
        found = examine(fd.fileno())
        wait = partial(wait_for_devices, fd) if found.dma_buf else None
        storage = Storage(fd.close, nbytes=found.size, keep=keep, wait=wait)
        self._fill(fd, found.size, found.readonly, found.dma_buf, mappable, kept, storage)

    def lent(self, storage: Storage, *, readonly: bool) -> DMABuffer:
        """The same memory, for one use of it that ends with `storage`.

        Args:
            storage: what planes of it hold in place of this buffer's, which it keeps.
            readonly: writing is not allowed. If it is, `kept` can be written to, even if the
                descriptor was sealed after it was mapped.
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
        kept: KeptMapping | None,
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
        """The name that somebody gave the DMA-BUF; "" without one."""
        return name_of(self.fileno()) if self.is_dma_buf else ""

    def set_name(self, name: str) -> None:
        """Name the DMA-BUF, for whoever looks at it: debugfs, /proc/PID/fdinfo, other processes.

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
