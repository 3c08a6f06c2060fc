# SPDX-License-Identifier: Apache-2.0
"""Tensor: one array in one memory type."""

from __future__ import annotations

import weakref
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from .._dtypes import DType
from .._exchange import as_array, as_capsule
from ..errors import NotHostVisibleError
from .access import Access
from .address import data_address
from .closed import become_closed, become_open, drop_extras
from .closing import NativeLostError, end
from .handles import check_handle_key
from .holder import Holder
from .info import TensorInfo
from .ordering import map_in_order
from .storage import Storage, publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    import numpy as np

    from .context import Context
    from .frame import Frame

__all__ = ["Tensor"]


class Tensor(Holder):
    """One array in one memory type.

    The core makes tensors; a backend subclasses this for its memory type and overrides
    `_describe`, `_handle`, `host_array` and `wrap` where they differ.

    Attributes:
        native: the framework's own object (numpy.ndarray, openvino.Tensor ...). Using it in the
            framework's API follows that API's rules.
        context: where the memory lives.
        given_info: `info`, if it was given or asked for before, else None: then `native` says all.
            For mappers: whether an array only carries the bits of another type (bfloat16), without
            the cost of describing every array.
        parent: what map() was called on; for the planes of a mapped frame, that frame's parent.
        readonly: nobody may write through this tensor. numpy enforces it; where a framework has
            no read-only memory, this flag is all there is.

    Ownership: a tensor holds what its bytes lie in. Dropping the last tensor, array, capsule or
    native object over the memory gives it back, in any order of drops. `close()` does it now.
    One tensor is used by one thread at a time; different tensors are independent.
    """

    __slots__ = ("__weakref__", "_made", "_owner", "context", "given_info", "native", "parent",
                 "readonly")  # fmt: skip

    native: Any
    context: Context
    given_info: TensorInfo | None
    parent: Tensor | Frame | None
    readonly: bool

    _instead = "use map(), or numpy.array(tensor) for a copy of its elements"

    def __init__(
        self,
        native: Any,
        context: Context,
        owner: Any,
        parent: Tensor | Frame | None,
        readonly: bool,
        info: TensorInfo | None = None,
        made: tuple[Storage, ...] = (),
    ) -> None:
        """For backends: `wrap` and `allocate` call it.

        Args:
            native: the framework's object; of what a user wraps, that very object.
            context: where it lives.
            owner: what keeps the bytes alive: a Storage, or any object that holds them, such as
                `native` itself. None if nothing must be held.
            parent: None, save for what map() makes, where the core sets it.
            readonly: nobody may write.
            info: the layout, if it is known; else `_describe` is asked when it is needed.
            made: the storages that close() ends, those of memory that was made for this tensor.
                What the others lie in comes first; the last one is released first. Empty for
                memory of the user's.
        """
        self.native = native
        self.context = context
        self._owner = owner
        self.parent = parent
        self.readonly = readonly
        self.given_info = info
        self._made = made

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        # The interpreter adapts a function's slot stores to one class. Shared by all classes,
        # the constructor would be adapted anew at each hop: a quarter of a map().
        shared = cls.__init__
        if "__init__" not in vars(cls) and shared.__qualname__ == "Tensor.__init__":
            own = FunctionType(shared.__code__.replace(), shared.__globals__)
            own.__defaults__ = shared.__defaults__
            cls.__init__ = own  # type: ignore[method-assign]

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over the user's own object, which stays the user's.

        Raises:
            LayoutError: the object has a layout that no tensor can have.
        """
        raise NotImplementedError(f"{cls.__name__} does not wrap native objects")

    @property
    def info(self) -> TensorInfo:
        """dtype, shape and byte strides."""
        info = self.given_info
        if info is None:
            info = self.given_info = self._describe()
        return info

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.info.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return self.info.shape

    @property
    def strides(self) -> tuple[int, ...] | None:
        """Bytes between elements along each axis; None without a linear layout."""
        return self.info.strides

    def handle(self, key: str | None = None) -> int:
        """A native handle as an int; without a key, the memory type's own.

        It stays with its owner and is valid while this tensor, or anything over its memory, lives.

        Raises:
            UnknownNameError: this tensor has no such handle.
        """
        if key is None:
            key = self.context.primary_handle
        check_handle_key(key)
        return self._handle(key)

    def map(
        self,
        target: str | Context = "cpu",
        access: Access = "r",
        *,
        copy: bool = False,
        queue: Any = None,
    ) -> Tensor:
        """The same bytes as a new tensor of another memory type.

        Args:
            target: a memory type, "type:device", or a context.
            access: "r", "w" (every byte will be written) or "rw".
            copy: allow edges that copy. Copies are counted in `samebytes.stats()`.
            queue: a queue of the device's framework, for instance a pyopencl.CommandQueue. Then
                the mapping is enqueued there and nothing waits: the caller orders its work by the
                queue. Without one, the bytes are complete when map() returns.

        Returns:
            A new tensor, for an identity too. It holds its source's memory.

        Raises:
            AccessError: writing was asked and this tensor is read-only.
            CopyRequiredError: the only ways there copy.
            NoRouteError: there is no way; the message says why.
        """
        if queue is not None:
            return cast("Tensor", map_in_order(self, target, access, copy, queue))
        try:
            route = self.context.tensor_routes[(target, access, copy) if copy else (target, access)]
        except KeyError:
            route = self.context.compile_route("tensor", target, access, copy)
        mapped: Tensor = route(self)
        return mapped

    def flush(self) -> None:
        """Publish what was written through this mapping, without ending it."""
        publish(self._owner)

    def close(self) -> None:
        """End this tensor, and the memory that was made for it.

        Closing twice does nothing. Memory of the user's just is let go.

        Raises:
            BusyError: something else still uses the memory. The tensor stays usable.
        """
        if self._made:
            end([self], self._made)
        else:
            self._forget()
            drop_extras(self)

    def host_array(self) -> np.ndarray[Any, Any]:
        """The bytes as a numpy array that keeps them alive, without a copy.

        Raises:
            NotHostVisibleError: the CPU cannot read this memory where it lies.
        """
        raise NotHostVisibleError(
            f"{self.memory_type} memory cannot be read by the CPU where it lies: "
            f"use tensor.map('cpu')"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return as_array(self, dtype, copy)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return as_capsule(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        self.host_array()
        return (1, 0)

    def __repr__(self) -> str:
        info, where = self.info, self.context.node
        mode = ", read-only" if self.readonly else ""
        return f"<{type(self).__name__} {info.dtype}{list(info.shape)} in {where}{mode}>"

    def _describe(self) -> TensorInfo:
        """The layout of `native`, when it is first asked for."""
        return TensorInfo.of(self.host_array())

    def _handle(self, key: str) -> int:
        """The handle of that key, or UnknownNameError."""
        if key == "data":
            return data_address(self.host_array())
        return self.context.no_handle(key)

    def _native_recipe(self) -> Callable[[Storage], Any]:
        """How to make `native` again on a storage, without holding it or its memory.

        The storage is the one that the tensor's owner was: the whole of it, for a plane of a frame
        that of the frame. The recipe knows where in it the tensor begins, its layout, and whether
        its native may be written; close() that raised BusyError must leave all as it was.

        The default finds the native object through a weak reference: whoever still holds the
        memory then holds the native object too. A memory type whose memory can be held without it,
        or whose native objects have no weak references, overrides this.
        """
        alive, kind = weakref.ref(self.native), type(self)

        def again(_: Storage) -> Any:
            native = alive()
            if native is None:
                raise NativeLostError(
                    f"close() lost the native object of a {kind.__name__}, whose memory is held "
                    f"without it: {kind.__module__}.{kind.__name__} must define _native_recipe()"
                )
            return native

        return again

    def _forget(self) -> None:
        del self.native, self.context, self._owner, self.parent
        del self.readonly, self.given_info, self._made
        become_closed(self)

    def _recipe(self, ending: frozenset[int]) -> tuple[Any, ...]:
        owner, native = self._owner, self.native
        ends = id(owner) in ending
        return (
            self._native_recipe() if ends else lambda _: native,
            self.context,
            id(owner) if ends else owner,
            self.parent,
            self.readonly,
            self.given_info,
            [id(s) for s in self._made],
        )

    def _restore(self, parts: tuple[Any, ...], storages: dict[int, Storage]) -> None:
        recipe, context, owner, parent, readonly, info, made = parts
        storage = storages[owner] if isinstance(owner, int) else owner
        native = recipe(storage)
        become_open(self)
        Tensor.__init__(
            self,
            native,
            context,
            storage,
            parent,
            readonly,
            info,
            tuple(storages[i] for i in made),
        )
