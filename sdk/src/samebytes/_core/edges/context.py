# SPDX-License-Identifier: Apache-2.0
"""Context: what framework and hardware need to make memory, and the routes that start there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
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
    cast,
    overload,
)

import numpy as np

from ..._frozen import frozen
from ...errors import ClosedError, UnknownNameError, UnsupportedObjectError
from ..memory.frame import Frame
from ..memory.meta import FrameSays, say
from ..memory.tensor import FrameT_co, Tensor, TensorT_co, TypedContext

if TYPE_CHECKING:
    from typing import Self

    from ...formats import AudioInfo, ImageInfo

    AnyContext = TypeVar("AnyContext", bound="Context[Any, Any]")

__all__ = ["CPU_DEVICE", "Context", "Device", "Level", "Target"]


@frozen()
class Device:
    """A processor as one API sees it. Fields that an API does not report are None.

    Attributes:
        kind: "CPU", "GPU", "NPU" or the framework's own word.
        name: for people.
        uuid: 16 bytes, as OpenCL (cl_khr_device_uuid), Level Zero and OpenVINO give them.
        pci: address "dddd:bb:dd.f" (cl_khr_pci_bus_info, zeDevicePciGetPropertiesExt).
        drm_node: for instance "/dev/dri/renderD128".
        luid: 8 bytes, on Windows.
    """

    kind: str
    name: str = ""
    uuid: bytes | None = None
    pci: str | None = None
    drm_node: str | None = None
    luid: bytes | None = None

    def same(self, other: Device) -> bool | None:
        """True if both are the same hardware, False if not; None where that cannot be known.

        Args:
            other: another device, of any API.
        """
        if self == other:
            return True
        if self.kind != other.kind:
            return False
        for field in ("pci", "uuid", "luid", "drm_node"):
            mine, theirs = getattr(self, field), getattr(other, field)
            if mine is not None and theirs is not None:
                return bool(mine == theirs)
        return None

    def __str__(self) -> str:
        return f"{self.kind} ({self.name})" if self.name else self.kind


CPU_DEVICE = Device("CPU")
"""The processor, where memory of the host is."""


Level = Literal["tensor", "frame"]
"""The kind of object to map: one array, or a picture or sound with its planes."""
Target: TypeAlias = Union[str, "Context[Any, Any]", "type[Context[Any, Any]]"]
"""A target to map to, as a name, a context or a class of contexts: see `Tensor.map`."""
# (target, access), or (target, access, True) for routes that may copy. A target is entered by name
# or, to hold no device context, by a weak reference.
RouteKey = tuple[object, str] | tuple[object, str, bool]


class Router(Protocol):
    """The interface through which the core uses what is built upon it.

    `derive` gives the context of `node` that shares the handles of `parent`; `compile_route` the
    function that maps from `source` to `target`, which it enters in the source's table;
    `forget_compiled` drops those of all contexts; `crop` and `convert` are those of Frame,
    `thumbnail` is what a notebook shows of one; `tensor` is `samebytes.tensor`.
    """

    def derive(self, parent: Context, node: str | type[Context]) -> Context: ...
    def compile_route(
        self, source: Context, level: Level, target: Target, access: str, copy: bool, item: Any
    ) -> Callable[[Any], Any]: ...
    def forget_compiled(self) -> None: ...
    def crop(self, frame: Frame, x: int, y: int, width: int, height: int, fit: bool) -> Frame: ...
    def convert(self, frame: Frame, *wanted: Any, **how: Any) -> Frame: ...
    def thumbnail(self, frame: Frame) -> bytes | None: ...
    def tensor(self, native: Any) -> Tensor: ...


class _LateRouter:
    """Stands for the router until somebody uses it: what it is made of imports the core."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("samebytes._api").ROUTER, name)


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
        closed: close() was called. Existing memory does not depend on it.
        tensor_routes, frame_routes: the routes that were found so far. samebytes fills them.
    """

    memory_type: ClassVar[str]
    node: ClassVar[str]
    tensor_class: ClassVar[type[Tensor]] = Tensor
    frame_class: ClassVar[type[Frame]] = Frame
    primary_handle: ClassVar[str] = "data"
    singleton: ClassVar[bool] = False
    may_be_opaque: ClassVar[bool] = False
    router: ClassVar[Router] = cast("Router", _LateRouter())

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
        for name in {"allocate", "allocate_frame"} & vars(cls).keys():
            setattr(cls, name, _making(vars(cls)[name]))

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The context for `samebytes.context(node:device)` or `parent.derive(...)`; it is new.

        Args:
            device: what follows the colon in the name, or None.
            parent: the context to share handles with, or None for a default one.

        Raises:
            UnknownNameError: there is one context of this memory type, and a device was named.
        """
        if cls.singleton and device is not None:
            raise UnknownNameError(f"device of {cls.memory_type}", device, ())
        return cls()

    def handle(self, key: str) -> int:
        """A native handle as an int; it stays with its owner.

        Args:
            key: a name of the table of handle keys, such as "cl_context".

        Raises:
            UnknownNameError: this context has no such handle.
        """
        found = self.find_handle(key)
        return self._no_handle(key) if found is None else found

    def find_handle(self, key: str) -> int | None:
        """As `handle(key)`, or None where this context has no such handle."""
        found = self._handles.get(key)
        if found is None:
            from ..owner.handle_keys import check_handle_key  # many programs ask for none

            check_handle_key(key)
        return found

    def _no_handle(self, key: str, item: Any = None) -> NoReturn:
        """Raise UnknownNameError: this, or an item in its memory, has no such handle."""
        if key in self._handles:  # a tensor or frame was asked for it
            hint = f"(its context has it: use .context.handle({key!r}))"
            raise UnknownNameError(f"handle of {self.node} memory", key, (), hint)
        keys = self._handles if item is None else (self.primary_handle,)
        known = [k for k in keys if item is None or item._handle(k) is not None]
        raise UnknownNameError(f"handle of {self.node}", key, known)

    def allocate(self, shape: tuple[int, ...], dtype: Any = "uint8") -> TensorT_co:
        """New memory, owned by the tensor that is returned. Its contents are undefined.

        Args:
            shape: elements along each axis.
            dtype: the element type: a `samebytes.dtype`, a numpy dtype or a name such as "float32".

        Raises:
            UnsupportedObjectError: this framework cannot allocate.
            ClosedError: the context was closed.
        """
        raise UnsupportedObjectError(f"{self.node} cannot allocate tensors: use allocate_frame()")

    def allocate_frame(
        self, format: Any, width: int, height: int, *options: Any, **named: Any
    ) -> FrameT_co:
        """A new image, owned by the frame that is returned. Its contents are undefined.

        Args:
            format: the pixel format, in any spelling: "NV12", "bgr24".
            width, height: in pixels.
            options: those of the memory type.
            named: the same by name, and for all memory types those of `FrameSays`.

        Raises:
            UnsupportedObjectError: this framework cannot allocate images.
            MetadataError: what is said of the frame is not what it must be.
            ClosedError: the context was closed.
        """
        raise UnsupportedObjectError(f'{self.node} cannot allocate frames: map one of "cpu" to it')

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

        The error then says this alone, and does not ask for a copy, which would not help.

        Args:
            info: `Frame.meta.info` of the frame; None for a plain list of tensors.
        """
        return None

    def forget_routes(self) -> None:
        """Drop the compiled routes, as when plugins were added."""
        self.tensor_routes.clear()
        self.frame_routes.clear()

    def check_open(self) -> None:
        """Raise if the context was closed.

        Raises:
            ClosedError: it was.
        """
        if self.closed:
            raise ClosedError(f"this {self.node} context was closed")

    @property
    def shared(self) -> bool:
        """True if every component of the program gets this very context: close() leaves it open.

        These are the singletons of host memory, and a plugin's own context of a device.
        """
        return self.singleton

    def close(self) -> None:
        """Make no more memory here, and be found no more: who asks again gets a new context.

        Tensors, frames, requests and contexts derived from it go on as before, map() from and to it
        included. Its native handles are given back when nothing refers to it any more.

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

        What the context owns stays until nothing refers to it: tensors use it.
        """

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        # Memory of a closed one need not work in the one that was made after it. And the number of
        # a handle that it does not own may be that of something new by now.
        same = isinstance(other, Context) and self.key == other.key
        return same and is_current(self) and is_current(other)

    def __hash__(self) -> int:
        return self._hash

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self  # one object for each set of handles

    __copy__ = __deepcopy__

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise TypeError(f"a {type(self).__name__} holds handles of this process: cannot pickle it")

    def __enter__(self) -> Self:
        try:
            self._blocks.append(None)  # a signal handler may raise after it, and not before
            self.check_open()
        except BaseException:
            self._blocks.pop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        # Interrupted before this, it stays open, and its handles end with the last reference to it.
        self._blocks.pop()
        self.close()

    def __repr__(self) -> str:
        state = " closed" if self.closed else f" on {self.device}"
        return f"<{type(self).__name__} {self.node}{state}>"


def is_current(thing: Any) -> bool:
    """True if neither a context, or what a registry has in its place, nor a parent was closed."""
    while thing is not None:
        if thing.closed:
            return False
        thing = getattr(thing, "parent", None)
    return True


def _making(make: Callable[..., Any]) -> Callable[..., Any]:
    """`make`, which makes memory: refused once its context was closed; of a frame it says more."""
    may_say = FrameSays.__annotations__.keys() if make.__name__ == "allocate_frame" else set()

    @wraps(make)
    def making(self: Context, /, *arguments: Any, **named: Any) -> Any:
        self.check_open()
        says = {name: named.pop(name) for name in may_say & named.keys()}
        made = make(self, *arguments, **named)
        if says:
            say(made.meta, **says)
        return made

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
