# SPDX-License-Identifier: Apache-2.0
"""Context: what a framework needs to make memory, and the table of routes that start there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NoReturn,
    Protocol,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    Union,
    overload,
)

import numpy as np

from ..errors import ClosedError, UnknownNameError, UnsupportedObjectError
from .device import CPU_DEVICE, Device
from .frame import Frame
from .handles import check_handle_key
from .saying import say
from .tensor import Tensor
from .typed import FrameT_co, TensorT_co, TypedContext

if TYPE_CHECKING:
    from fractions import Fraction
    from typing import Self

    from ..formats import AudioInfo, ImageInfo

    AnyContext = TypeVar("AnyContext", bound="Context[Any, Any]")

__all__ = ["Context", "Level", "Target"]

Level = Literal["tensor", "frame"]
"""The kind of object to map: one array, or a picture or sound with its planes."""
Target: TypeAlias = Union[str, "Context[Any, Any]", "type[Context[Any, Any]]"]
"""A target to map to, as a name, a context or a class of contexts: see `Tensor.map`."""
# (target, access), or (target, access, True) for routes that may copy. A target is entered by name
# or, to hold no device context, by a weak reference.
RouteKey = tuple[object, str] | tuple[object, str, bool]


class Router(Protocol):
    """The interface through which the core uses routing, which is built upon it."""

    def derive(self, parent: Context, node: str | type[Context]) -> Context:
        """The context of `node` that shares the handles of `parent`."""

    def compile_route(
        self, source: Context, level: Level, target: Target, access: str, copy: bool, item: Any
    ) -> Callable[[Any], Any]:
        """The function that maps from `source` to `target`, entered in the source's table."""

    def forget_compiled(self) -> None:
        """Drop the compiled routes of all contexts."""


class Context(TypedContext[TensorT_co, FrameT_co]):
    """A place where memory of one type lives, on one device.

    A backend subclasses this, with its classes of tensors and frames as parameters for type
    checkers: `class ToyContext(Context["ToyTensor"])`. Host memory types have one context each,
    which lives as long as the process (`singleton = True`). Device contexts hold native handles;
    two that hold the same ones are equal while both are open, and `intern` gives the living one.

    Class attributes:
        memory_type: for instance "cpu" or "openvino".
        node: its name in routes; the memory type, or "type:KIND" where kinds of device differ in
            what can be mapped ("openvino:GPU").
        tensor_class, frame_class: what tensors and frames here are made of.
        primary_handle: the key that `Tensor.handle()` means.
        singleton: there is one, and it is never closed.
        may_be_opaque: memory here can lack a linear layout (images, tiled surfaces). Then edges
            that do not declare `opaque` look at every tensor before they take it.
        router: samebytes' own, which finds routes. Set once, for all contexts.

    Attributes:
        device: the hardware.
        parent: the context that it was derived from, if any.
        closed: whether close() was called. Only close() sets it. Existing memory does not depend
            on it.
        tensor_routes, frame_routes: the routes that were found so far. samebytes fills them.
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
        self._hash = hash(self.key)  # each map() to a context looks it up
        self.closed = False
        # One for each `with` block that uses it, which may be of components that know nothing of
        # each other. append() and pop() are one step each, whatever other threads do.
        self._blocks: list[None] = []
        # Filled by the router. Nothing in them holds a device context, so that two contexts which
        # map to each other do not keep each other alive.
        self.tensor_routes: dict[RouteKey, Callable[[Tensor], Tensor]] = {}
        self.frame_routes: dict[RouteKey, Callable[[Frame], Frame]] = {}

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for name, wrap in (("allocate", _while_open), ("allocate_frame", _saying)):
            if name in vars(cls):
                setattr(cls, name, wrap(vars(cls)[name]))

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """Make the context for `samebytes.context(node:device)` or `parent.derive(...)`.

        Args:
            device: what follows the colon in the name, or None.
            parent: the context to share handles with, or None for a default one.

        Returns:
            The context, which nobody else holds yet.

        Raises:
            UnknownNameError: there is one context of this memory type, and a device was named.
        """
        if cls.singleton and device is not None:
            raise UnknownNameError(f"device of {cls.memory_type}", device, ())
        return cls()

    def handle(self, key: str) -> int:
        """A native handle as an int; it stays with its owner.

        Args:
            key: which handle: a name of the table of handle keys, such as "cl_mem" or "dma_fd".

        Raises:
            UnknownNameError: this context has no such handle.
        """
        check_handle_key(key)
        try:
            return self._handles[key]
        except KeyError:
            self.no_handle(key)

    def no_handle(self, key: str) -> NoReturn:
        """Raise the error for a handle that is not there.

        Args:
            key: which handle: a name of the table of handle keys, such as "cl_mem" or "dma_fd".

        Raises:
            UnknownNameError: always; it lists the handles that are there.
        """
        if key in self._handles:  # a tensor or frame was asked for it
            hint = f"(its context has it: use .context.handle({key!r}))"
            raise UnknownNameError(f"handle of {self.node} memory", key, (), hint)
        raise UnknownNameError(f"handle of {self.node}", key, self._handles)

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> TensorT_co:
        """New memory, owned by the tensor that is returned. Its contents are undefined.

        Args:
            shape: elements along each axis.
            dtype: the element type: a `samebytes.dtype`, a numpy dtype or a name such as "float32".

        Raises:
            UnsupportedObjectError: this framework cannot allocate.
            ClosedError: the context was closed.
        """
        raise UnsupportedObjectError(f"{self.node} cannot allocate tensors")

    def allocate_frame(
        self, format_: Any, width: int, height: int, *options: Any, **named: Any
    ) -> FrameT_co:
        """A new image, owned by the frame that is returned. Its contents are undefined.

        Args:
            format_: the pixel format, in any spelling: "NV12", "bgr24".
            width: pixels in a row.
            height: rows.
            options: those of the memory type.
            named: the same by name, and for all memory types `pts`, `time_base`, `duration` and
                `metadata`, as of `samebytes.frame`: see `samebytes.plugins.FrameSays`.

        Raises:
            UnsupportedObjectError: this framework cannot allocate images.
            MetadataError: what is said of the frame is not what it must be.
            ClosedError: the context was closed.
        """
        raise UnsupportedObjectError(f"{self.node} cannot allocate frames")

    @overload
    def derive(self, node: type[AnyContext]) -> AnyContext: ...

    @overload
    def derive(self, node: str) -> Context: ...

    def derive(self, node: str | type[Context]) -> Context:
        """The context of another memory type that shares this one's handles.

        Args:
            node: its name, or its class.

        Raises:
            UnknownNameError: no such memory type.
            NoRouteError: it cannot be derived from this one.
            ClosedError: this one was closed.
        """
        self.check_open()
        return self.router.derive(self, node)

    def order(self, item: Tensor | Frame, queue: Any) -> bool:
        """Let what is enqueued on `queue` from now on wait for what is pending on `item`.

        For `map(queue=)` to the context where the memory is already. Nothing waits on the CPU.

        Args:
            item: a tensor or frame whose memory is in this context.
            queue: a queue or stream of this framework's, which stays the caller's.

        Returns:
            False where the work of this framework is on no queues.
        """
        return False

    def readonly_native(self, native: Any) -> Any:
        """`native` such that it cannot be written through, where the framework has such a thing.

        Args:
            native: an object of the framework's, which stays as it is.
        """
        return native

    def rules_out(self, info: ImageInfo | AudioInfo | None) -> str | None:
        """Say why no frame of this context can be such media, whatever its memory, or return None.

        Asked where a frame cannot be mapped to this context: the error says this alone, and does
        not ask for a copy, which would not help.

        Args:
            info: `Frame.meta.info` of the frame; None for a plain list of tensors.
        """
        return None

    def compile_route(
        self, level: Level, target: Target, access: str, copy: bool, item: Any = None
    ) -> Callable[[Any], Any]:
        """The route for a key that its table lacks, which it enters there.

        Args:
            level: "tensor" or "frame".
            target: where to map to: a name, a class or a context.
            access: "r", "w" or "rw".
            copy: whether the route may copy.
            item: the tensor or frame to be mapped; the error describes it if no route exists.
        """
        return self.router.compile_route(self, level, target, access, copy, item)

    def forget_routes(self) -> None:
        """Drop the compiled routes, as when plugins were added."""
        self.tensor_routes.clear()
        self.frame_routes.clear()

    def check_open(self) -> None:
        """Raise ClosedError if the context was closed.

        Raises:
            ClosedError: it was.
        """
        if self.closed:
            raise ClosedError(f"this {self.node} context was closed")

    @property
    def shared(self) -> bool:
        """True if every component of the program gets this very context.

        close() leaves such a context open. These are the singletons of host memory, and a plugin's
        own context of a device.
        """
        return self.singleton

    def close(self) -> None:
        """Make no more memory here, and be found no more: who asks again gets a new context.

        It takes nothing away from anybody. Tensors, frames, requests and contexts derived from it
        go on as before, map() from and to it included. Its native handles are given back when
        nothing refers to it any more.

        One that is `shared` stays open. One that `with` blocks use stays open until the last of
        them has ended: everybody who asks for the same handles gets this object.
        """
        if not self.closed and not self.shared and not self._blocks:
            self.closed = True
            # Routes to its name lead to another context from now on.
            self.router.forget_compiled()
            self._on_close()

    def _on_close(self) -> None:
        """Take this context out of the backend's tables, in which others would find it.

        Called once. What the context owns stays until nothing refers to it: tensors use it.
        """

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        # Memory of a closed one need not work in the one that was made after it. And the number of
        # a handle that it does not own may be that of something new by now.
        return (
            isinstance(other, Context)
            and self.key == other.key
            and is_current(self)
            and is_current(other)
        )

    def __hash__(self) -> int:
        return self._hash

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # one object for each set of handles

    def __copy__(self) -> Self:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise TypeError(f"a {type(self).__name__} holds handles of this process: cannot pickle it")

    def __enter__(self) -> Self:
        self._blocks.append(None)
        try:
            self.check_open()
        except BaseException:
            self._blocks.pop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._blocks.pop()
        self.close()

    def __repr__(self) -> str:
        state = " closed" if self.closed else f" on {self.device}"
        return f"<{type(self).__name__} {self.node}{state}>"


def is_current(thing: Any) -> bool:
    """True if neither `thing` nor any context that it was derived from was closed.

    Args:
        thing: a context, or the object that a registry holds in its place.
    """
    while thing is not None:
        if thing.closed:
            return False
        thing = getattr(thing, "parent", None)
    return True


def _while_open(make: Callable[..., Any]) -> Callable[..., Any]:
    """`make`, a method that makes memory, refused once its context was closed."""

    @wraps(make)
    def making(self: Context, /, *arguments: Any, **named: Any) -> Any:
        self.check_open()
        return make(self, *arguments, **named)

    return making


def _saying(make: Callable[..., Any]) -> Callable[..., Any]:
    """`make`, which allocates a frame, with what all contexts let their callers say of one."""

    @wraps(make)
    def making(
        self: Context,
        /,
        *arguments: Any,
        pts: int | None = None,
        time_base: Fraction | None = None,
        duration: Fraction | None = None,
        metadata: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> Any:
        self.check_open()
        frame = make(self, *arguments, **named)
        say(frame.meta, pts, time_base, duration, metadata)
        return frame

    return making


class HostContext(Context[TensorT_co, FrameT_co]):
    """The one context of a memory type whose bytes the CPU reads in place."""

    singleton = True

    def readonly_native(self, native: Any) -> Any:
        """A view of the array that cannot be written; other natives have no such thing."""
        if not isinstance(native, np.ndarray):
            return native
        view = native.view()
        # By place: naming it takes longer than making the view.
        view.setflags(False)  # type: ignore[call-arg]  # numpy's stubs want a name
        return view
