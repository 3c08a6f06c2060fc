# SPDX-License-Identifier: Apache-2.0
"""DMABuffer: the owner of one descriptor, and what is known of the memory behind it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NoReturn

from samebytes.plugins import Fd, Storage

from ._descriptor import Descriptor, Kind, examine, exporter_of, kind_of, name_of
from ._fences import wait_for_devices
from ._modifiers import LINEAR
from ._naming import set_name
from ._plane import DMAPlane

if TYPE_CHECKING:
    from samebytes import TensorInfo

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

    Attributes:
        size: in bytes.
        readonly: this descriptor does not allow writing.
        is_dma_buf: devices can import it.
        mappable: the exporter has not said that the CPU cannot map it.
        storage: owns the descriptor; for mappers, which return it from `connect`.

    Raises:
        LayoutError: nothing that can be mapped is behind the descriptor.
        AccessError: it was opened for writing alone.
    """

    __slots__ = ("__weakref__", "_fd", "is_dma_buf", "mappable", "readonly", "size", "storage")

    _fd: Fd
    size: int
    readonly: bool
    is_dma_buf: bool
    mappable: bool
    storage: Storage

    def __init__(self, fd: Fd, *, keep: object = None, mappable: bool = True) -> None:
        found = examine(fd.fileno())
        wait = partial(wait_for_devices, fd) if found.dma_buf else None
        storage = Storage(fd.close, nbytes=found.size, keep=keep, wait=wait)
        self._fill(fd, found, storage, mappable)

    def _fill(self, fd: Fd, found: Descriptor, storage: Storage, mappable: bool = True) -> None:
        set_ = object.__setattr__
        set_(self, "_fd", fd)
        set_(self, "size", found.size)
        set_(self, "readonly", found.readonly)
        set_(self, "is_dma_buf", found.dma_buf)
        set_(self, "mappable", mappable)
        set_(self, "storage", storage)

    @property
    def kind(self) -> Kind:
        """What the memory is: "dma_heap", "udmabuf", "dma_buf", or a stand-in: "memfd", "file"."""
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
        set_name(self, name)

    def fileno(self) -> int:
        """The descriptor, which stays the buffer's: for calls that only look."""
        return self._fd.fileno()

    def dup(self) -> Fd:
        """A descriptor of the caller's own, for a call that keeps or closes it."""
        return self._fd.dup()

    def plane(
        self, info: TensorInfo, *, offset: int = 0, pitch: int | None = None, modifier: int = LINEAR
    ) -> DMAPlane:
        """An array in this buffer; see `DMAPlane`."""
        return DMAPlane(self, info, offset, pitch, modifier)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a DMABuffer is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a DMABuffer is immutable: cannot delete {name}")

    def __repr__(self) -> str:
        mode = ", read-only" if self.readonly else ""
        return f"<DMABuffer {self.kind}, {self.size} bytes, fd {self.fileno()}{mode}>"
