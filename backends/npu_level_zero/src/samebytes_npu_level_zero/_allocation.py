# SPDX-License-Identifier: Apache-2.0
"""One piece of USM: its place, its release, and its descriptor once it is exported."""

from __future__ import annotations

import weakref
from ctypes import c_void_p
from functools import partial

from samebytes import Fd, Storage
from samebytes.errors import LayoutError
from samebytes.plugins import Lock, deferred

from ._abi.constants import MemoryType
from ._abi.results import Result
from ._abi.structures import Typed
from ._errors import NotExportableError
from ._fd_rules import fd_rules
from ._native_context import NativeContext
from ._usm import AllocationProperties, allocate, free, inspect, not_exported, query_fd

__all__ = ["Allocation", "new_memory"]

# What memory that we free needs until then, by the id of its Allocation. Held from here, and not by
# the memory's owner alone, since the garbage collector ends the objects of a reference cycle in any
# order: no context may be destroyed, and no page unmapped, before what lies in them is given back.
_needed: dict[int, tuple[NativeContext, object, weakref.ref[_Use]]] = {}


_lock = Lock()


class _Use:
    """The use of a piece of memory, until it is freed."""

    __slots__ = ("__weakref__",)


class Allocation:
    """One piece of USM. It does not own itself: the Storage that `storage()` makes does.

    Attributes:
        context: the context that it was made in.
        nbytes: its size; for a wrapped pointer, as far as the user's layout reaches.
        kind: host, shared or device memory.
        owned: True if it is freed with its storage; else it has another owner.
        unexportable: the reason why the driver exports no descriptor for it; "" until it has
            refused, and always for memory that can have one.
    """

    __slots__ = (
        "_cell", "_exported", "_made_to_export", "context", "kind", "nbytes", "owned",
        "unexportable",
    )  # fmt: skip

    def __init__(
        self,
        context: NativeContext,
        address: int,
        nbytes: int,
        kind: MemoryType,
        *,
        owned: bool = True,
        made_to_export: bool = True,
    ) -> None:
        self.context = context
        self._cell = c_void_p(address)
        self.nbytes = nbytes
        self.kind = kind
        self.owned = owned
        self.unexportable = ""
        self._made_to_export = made_to_export
        self._exported: Fd | None = None

    @property
    def address(self) -> int:
        """The address of the first byte; 0 before `new_memory()` has made it."""
        return self._cell.value or 0

    @property
    def host_visible(self) -> bool:
        """True if the CPU can read it in place."""
        return self.kind in (MemoryType.HOST, MemoryType.SHARED)

    def storage(self, keep: object = None) -> Storage:
        """The owner of the memory. Call it once. `keep` owns the memory that it lies in."""
        # The release alone holds the use. Where a signal handler's exception keeps it from running,
        # the end of the use frees the memory: a driver imports no page a second time until then.
        use = _Use()
        storage = Storage(
            partial(self._release, use),
            address=self.address if self.host_visible else 0,
            nbytes=self.nbytes,
            keep=keep,
            at_exit=True,
        )
        if self.owned:
            _needed[id(self)] = self.context, keep, weakref.ref(use, self._release)
        return storage

    def exported(self) -> Fd:
        """The memory's DMA-BUF descriptor, exported at the first call. It stays this object's.

        Raises:
            NotExportableError: the driver exports none for this memory.
            LayoutError: it is a pointer into the middle of somebody else's allocation.
        """
        exported = self._exported
        if exported is None:
            if self.unexportable:
                raise not_exported()
            # Asked here and not when it is wrapped: before the first byte of a region, a driver
            # answers with an error, which takes longer than the wrapping.
            if not self.owned and (here := self._byte(0)) and self._byte(-1) == here:
                raise LayoutError(
                    f"{self.address:#x} points into an allocation, so its position in the exported "
                    "memory is unknown: wrap the start of the allocation, with an offset"
                )
            rules = fd_rules(self.context)
            made = self._query()
            if not rules.export_is_ours:
                made = Fd.borrow(made.detach())
            with _lock:
                exported = self._exported = self._exported or made
        return exported

    def _query(self) -> Fd:
        try:
            return query_fd(self.context, self.address)
        except NotExportableError as error:
            # Of other memory, the driver may say so for want of descriptors.
            if error.code == Result.ERROR_NOT_AVAILABLE and not self._made_to_export:
                self.unexportable = str(error)
            raise

    def _byte(self, offset: int) -> AllocationProperties | None:
        return inspect(self.context, self.address + offset)

    def _release(self, _: object) -> None:
        if not self.owned:  # what may leak is a descriptor
            if self._exported is not None:
                self._exported.close()
            return
        with deferred():
            if self._exported is not None:
                self._exported.close()
            try:
                if self.address:
                    free(self.context, self._cell)
            finally:
                _needed.pop(id(self), None)


def new_memory(
    context: NativeContext, nbytes: int, kind: MemoryType, alignment: int = 0,
    extension: Typed | None = None, keep: object = None,
) -> tuple[Allocation, Storage]:  # fmt: skip
    """New memory, or by an importing `extension` existing memory, and its owner.

    The owner comes before the memory, which no exception of a signal handler can lose then.

    Args:
        context, nbytes, kind, alignment, extension: as for `allocate`.
        keep: the owner of the memory that it lies in.

    Raises:
        LayoutError: the size or alignment is not possible.
        LevelZeroError: the driver refuses.
    """
    allocation = Allocation(context, 0, nbytes, kind, made_to_export=extension is not None)
    storage: Storage | None = allocation.storage(keep)
    assert storage is not None
    try:
        allocate(allocation._cell, context, nbytes, kind, alignment, extension)
    except BaseException:
        storage = None  # the traceback holds it, and so what the memory lies in
        raise
    if allocation.host_visible:
        storage.expose(allocation.address, nbytes)
    return allocation, storage
