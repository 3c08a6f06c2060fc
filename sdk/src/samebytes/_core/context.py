# SPDX-License-Identifier: Apache-2.0
"""Context: what a framework needs to make memory, and the table of routes that start there."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Protocol, SupportsIndex

import numpy as np

from ..errors import ClosedError, UnknownNameError, UnsupportedObjectError
from .device import CPU_DEVICE, Device
from .frame import Frame
from .handles import check_handle_key
from .tensor import Tensor

if TYPE_CHECKING:
    from typing import Self


__all__ = ["Context", "Level"]

Level = Literal["tensor", "frame"]
# (target, access), or (target, access, True) for routes that may copy. A target is entered by name
# or, to hold no device context, by a weak reference.
RouteKey = tuple[object, str] | tuple[object, str, bool]


class Router(Protocol):
    """What the core asks of routing, which is built upon it."""

    def derive(self, parent: Context, node: str) -> Context:
        """The context of `node` that shares the handles of `parent`."""

    def compile_route(
        self, source: Context, level: Level, target: str | Context, access: str, copy: bool
    ) -> Callable[[Any], Any]:
        """The function that maps from `source` to `target`, entered in the source's table."""


class Context:
    """Where memory of one type lives, on one device.

    A backend subclasses this. Host memory types have one context each, which lives as long as
    the process (`singleton = True`). Device contexts hold native handles; two that hold the same
    ones are equal, and `intern` gives the living one.

    Class attributes:
        memory_type: for instance "cpu" or "openvino".
        node: its name in routes; the memory type, or "type:KIND" where kinds of device differ in
            what can be mapped ("openvino:GPU").
        tensor_class, frame_class: what tensors and frames here are made of.
        primary_handle: the key that `Tensor.handle()` means.
        singleton: there is one, and it is never closed.
        may_be_opaque: memory here can lack a linear layout (images, tiled surfaces). Then edges
            that do not declare `opaque` look at every tensor before they take it.
    """

    memory_type: ClassVar[str]
    node: ClassVar[str]
    tensor_class: ClassVar[type[Tensor]] = Tensor
    frame_class: ClassVar[type[Frame]] = Frame
    primary_handle: ClassVar[str] = "data"
    singleton: ClassVar[bool] = False
    may_be_opaque: ClassVar[bool] = False
    # Set by the package's top, which knows both.
    router: ClassVar[Router]

    def __init__(
        self,
        device: Device = CPU_DEVICE,
        *,
        handles: Mapping[str, int] | None = None,
        parent: Context | None = None,
    ) -> None:
        self.device = device
        self.parent = parent
        self._handles = dict(handles or {})
        self.key = (self.node, self.device, tuple(sorted(self._handles.items())))
        self._closed = False
        # Filled by the router. Nothing in them holds a device context, so that two contexts which
        # map to each other do not keep each other alive.
        self.tensor_routes: dict[RouteKey, Callable[[Tensor], Tensor]] = {}
        self.frame_routes: dict[RouteKey, Callable[[Frame], Frame]] = {}

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """Make the context for `samebytes.context(node:device)` or `parent.derive(...)`.

        Args:
            device: what follows the colon in the name, or None.
            parent: the context to share handles with, or None for a default one.
        """
        if cls.singleton and device is not None:
            raise UnknownNameError(f"device of {cls.memory_type}", device, ())
        return cls()

    def handle(self, key: str) -> int:
        """A native handle as an int; it stays with its owner.

        Raises:
            UnknownNameError: this context has no such handle.
        """
        self.check_open()
        check_handle_key(key)
        try:
            return self._handles[key]
        except KeyError:
            self.no_handle(key)

    def no_handle(self, key: str) -> NoReturn:
        """Raise the error for a handle that is not there."""
        raise UnknownNameError(f"handle of {self.node}", key, self._handles)

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> Tensor:
        """New memory, owned by the tensor that is returned. Its contents are undefined.

        Raises:
            UnsupportedObjectError: this framework cannot allocate.
        """
        raise UnsupportedObjectError(f"{self.node} cannot allocate tensors")

    def allocate_frame(self, format_: Any, width: int, height: int) -> Frame:
        """A new image, owned by the frame that is returned. Its contents are undefined.

        Raises:
            UnsupportedObjectError: this framework cannot allocate images.
        """
        raise UnsupportedObjectError(f"{self.node} cannot allocate frames")

    def derive(self, node: str) -> Context:
        """The context of another memory type that shares this one's handles.

        Raises:
            UnknownNameError: no such memory type.
            NoRouteError: it cannot be derived from this one.
        """
        self.check_open()
        return self.router.derive(self, node)

    def readonly_native(self, native: Any) -> Any:
        """`native` such that it cannot be written through, where the framework has such a thing."""
        return native

    def compile_route(
        self, level: Level, target: str | Context, access: str, copy: bool
    ) -> Callable[[Any], Any]:
        """The route for a key that its table lacks, which it enters there."""
        self.check_open()
        return self.router.compile_route(self, level, target, access, copy)

    def forget_routes(self) -> None:
        """Drop the compiled routes, as when plugins were added."""
        self.tensor_routes.clear()
        self.frame_routes.clear()

    def check_open(self) -> None:
        """Raise ClosedError if the context was closed."""
        if self._closed:
            raise ClosedError(f"this {self.node} context was closed")

    def close(self) -> None:
        """Give up the handles. Tensors made here keep what they need until they are gone.

        The singletons of host memory stay open.
        """
        if not self.singleton and not self._closed:
            self._closed = True
            self.forget_routes()
            self._release()

    def _release(self) -> None:
        """Give back what this context owns; called once."""

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Context) and self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # one object for each set of handles

    def __copy__(self) -> Self:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise TypeError(f"a {type(self).__name__} holds handles of this process: cannot pickle it")

    def __enter__(self) -> Self:
        self.check_open()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " closed" if self._closed else f" on {self.device}"
        return f"<{type(self).__name__} {self.node}{state}>"


class HostContext(Context):
    """The one context of a memory type whose bytes the CPU reads where they lie."""

    singleton = True

    def readonly_native(self, native: Any) -> Any:
        """A view of the array that cannot be written; other natives have no such thing."""
        if not isinstance(native, np.ndarray):
            return native
        view = native.view()
        view.setflags(write=False)  # faster than flags.writeable
        return view


# Singletons, which live as long as the process.
_host: dict[Any, Context] = {}
_living: weakref.WeakValueDictionary[Any, Context] = weakref.WeakValueDictionary()
_living_lock = threading.Lock()


def intern(context: Context) -> Context:
    """The living context equal to `context`, which is `context` itself if it is the first."""
    with _living_lock:
        found = _living.get(context.key)
        # Another class: that of a plugin which was installed anew into the running process.
        if found is None or _is_gone(found) or type(found) is not type(context):
            _living[context.key] = found = context
            if context.singleton:
                _host[context.key] = context
        return found


def _is_gone(context: Context) -> bool:
    """Whether it, or what it was derived from, was closed.

    Handles are numbers, which are used again: one that came from a closed context may by now be
    the handle of something new.
    """
    above: Context | None = context
    while above is not None:
        try:
            above.check_open()
        except ClosedError:
            return True
        above = above.parent
    return False
