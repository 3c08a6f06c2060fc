# SPDX-License-Identifier: Apache-2.0
"""Tensor: one array in one memory type; CpuTensor: an array of numpy, which map() leads to."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, overload

from ... import _exchange
from ..._dtypes import DType
from ..._no_elements import NoElements
from ...errors import NotHostVisibleError
from ..edges.edge import Access, map_in_order
from ..native.pointers import data_address
from ..owner.closing import Holder
from .info import TensorInfo

if TYPE_CHECKING:
    from typing import Self

    import numpy as np

    from ..edges.context import Context, Target
    from ..owner.storage import Storage
    from .frame import Frame

__all__ = [
    "AnyFrame",
    "AnyTensor",
    "CpuTensor",
    "FrameT_co",
    "Tensor",
    "TensorT_co",
    "TypedContext",
    "TypedFrame",
]


class Tensor(NoElements, Holder):
    """One array in one memory type.

    A backend subclasses this for its memory type and overrides `_describe`, `_handle`,
    `host_array` and `wrap` where they differ.

    Attributes:
        native: the framework's own object (numpy.ndarray, openvino.Tensor ...). Using it in the
            framework's API follows that API's rules.
        context: where the memory lives.
        known_info: `info`, if it was given or asked for before. None: all follows from `native`,
            and mappers need not describe it.
        parent: what map() was called on; for the planes of a mapped frame, that frame's parent.
        readonly: the tensor may not be written through. numpy enforces it, unless somebody calls
            `setflags(write=True)`; if a framework has no read-only memory, this flag is all there
            is.

    A backend may set the class attribute `readonly_advice`: why memory of its type is read-only,
    and what to do about it. An AccessError quotes it.

    Ownership: a tensor holds what its bytes lie in. Dropping the last tensor, array, capsule or
    native object over the memory gives it back, in any order of drops. `close()` does it now.
    One tensor is used by one thread at a time; different tensors are independent.
    """

    __slots__ = ("known_info",)

    context: Context
    known_info: TensorInfo | None
    parent: Tensor | Frame | None

    _instead = (
        "use map(), or numpy.array(tensor) for a copy of its elements; to send it to another "
        "process, samebytes.copied(tensor)"
    )

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
        """Make a tensor. The core does so for each mapping; backends call `borrowed` and `owned`.

        A subclass with a constructor of its own passes all of these arguments on.

        Args:
            native, context, parent, readonly: the attributes.
            owner: what keeps the bytes alive: a Storage, or any object that holds them.
            info: the layout, or None to ask `_describe` when it is needed.
            made: the storages that close() ends.
        """
        self.native = native
        self.context = context
        self._owner = owner
        self.parent = parent
        self.readonly = readonly
        self.known_info = info
        self._made = made

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        # The interpreter adapts a function's slot stores to one class. If all classes shared the
        # constructor, it would be adapted again at each hop, a quarter of a map().
        shared = cls.__init__
        if "__init__" not in vars(cls) and shared.__qualname__ == "Tensor.__init__":
            own = FunctionType(shared.__code__.replace(), shared.__globals__)
            own.__defaults__ = shared.__defaults__
            cls.__init__ = own  # type: ignore[method-assign]

    @classmethod
    def borrowed(
        cls,
        native: Any,
        context: Context,
        *,
        keep: object = None,
        readonly: bool = False,
        info: TensorInfo | None = None,
        parent: Tensor | Frame | None = None,
    ) -> Self:
        """For backends: a tensor over memory that belongs to somebody else, such as the user.

        Args:
            native: the framework's object; if a user wraps one, that very object.
            context: where it lives.
            keep: what keeps the bytes alive: a Storage, or any object that holds them. None if
                `native` does.
            readonly: writing is not allowed.
            info: the layout, if it is known; else `_describe` is asked when it is needed.
            parent: the parent of the tensor that this one stands for, if it shows the memory of
                another. The core sets that of what map() makes.
        """
        return cls(native, context, native if keep is None else keep, parent, readonly, info)

    @classmethod
    def owned(
        cls,
        native: Any,
        context: Context,
        storage: Storage,
        *,
        readonly: bool = False,
        info: TensorInfo | None = None,
    ) -> Self:
        """For backends: a tensor over memory that was made for it, such as `allocate` makes.

        Args:
            native: the framework's object, which holds `storage`.
            context: where it lives.
            storage: releases the memory.
            readonly, info: as for `borrowed`.
        """
        return cls(native, context, storage, None, readonly, info, (storage,))

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over the user's own object, which stays the user's.

        Args:
            native: the framework's own tensor or array, which the result keeps alive.

        Raises:
            LayoutError: the object has a layout that no tensor can have.
        """
        raise NotImplementedError(f"{cls.__name__} does not wrap native objects")

    @property
    def info(self) -> TensorInfo:
        """dtype, shape and byte strides."""
        info = self.known_info
        if info is None:
            info = self.known_info = self._describe()
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

    @overload
    def map(
        self, target: Literal["cpu"] = ..., access: Access = ..., *, copy: bool = ...,
        queue: Any = ...,
    ) -> CpuTensor: ...  # fmt: skip

    @overload
    def map(
        self, target: Context[AnyTensor, Any] | type[Context[AnyTensor, Any]],
        access: Access = ..., *, copy: bool = ..., queue: Any = ...,
    ) -> AnyTensor: ...  # fmt: skip

    @overload
    def map(
        self, target: Target, access: Access = ..., *, copy: bool = ..., queue: Any = ...
    ) -> Tensor: ...  # fmt: skip

    def map(
        self,
        target: Target = "cpu",
        access: Access = "r",
        *,
        copy: bool = False,
        queue: Any = None,
    ) -> Any:
        """The same bytes as a new tensor of another memory type.

        Args:
            target: a memory type, "type:device", a context, or the class of a memory type's
                contexts, which is a name that type checkers know: they see what comes of it.
            access: "r", "w" (every byte will be written) or "rw".
            copy: allow edges that copy. Copies are counted in `samebytes.stats()`.
            queue: a queue of the device's framework, for instance a pyopencl.CommandQueue. Then
                the mapping is enqueued there and nothing waits: the caller orders its work by the
                queue. Without one, the bytes are complete when map() returns.

        Returns:
            A new tensor, for an identity too. It holds its source's memory.

        Raises:
            AccessError: writing was asked for, and this tensor is read-only.
            CopyRequiredError: every route there copies.
            NoRouteError: there is no route; the message says why.
        """
        if queue is not None:
            return map_in_order(self, target, access, copy, queue)
        try:
            route = self.context.tensor_routes[(target, access, copy) if copy else (target, access)]
        except KeyError:
            route = None
        if route is None:  # not above, where the KeyError would be shown with each error
            context = self.context
            route = context.router.compile_route(context, "tensor", target, access, copy, self)
        return route(self)

    def host_array(self) -> np.ndarray[Any, Any]:
        """The bytes as a numpy array that keeps them alive, without a copy.

        Raises:
            NotHostVisibleError: the CPU cannot read this memory in place.
        """
        raise NotHostVisibleError(
            f"{self.memory_type} memory cannot be read by the CPU in place: use tensor.map('cpu')"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return _exchange.as_array(self, dtype, copy)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return _exchange.as_capsule(self, stream, max_version, dl_device, copy)

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

    def _handle(self, key: str) -> int | None:
        return data_address(self.host_array()) if key == "data" else None

    def _native_to_read(self) -> Any:
        """`native` as an object that cannot be written through, if the framework has such."""
        return self.context.readonly_native(self.native)

    def _window(self, row: int, column: int, rows: int, columns: int) -> Any:
        """A native over a part of a plane, which keeps its memory alive. For `Frame.crop`."""
        raise NotImplementedError(f"crop() asks first whether {type(self).__name__} has parts")

    def _owners(self) -> tuple[Any, ...]:
        return (self._owner,)

    def _to_close(self) -> list[Holder]:
        return [self]


class CpuTensor(Tensor):
    """An array in CPU memory. `native` is a numpy.ndarray.

    For element types that numpy lacks (bfloat16, float8 ...) the array carries the bits in an
    unsigned type of the same size, and `info.dtype` says what they are.

    Class attributes:
        home: the one context of the CPU.
    """

    __slots__ = ("_lent", "_shown")

    native: np.ndarray[Any, Any]
    # The way in which `__dlpack__` exports the memory, once it was checked: a method of a view that
    # nobody else has, since the layout of `native` can be changed in place. None if each export has
    # to be made by hand.
    _lent: Callable[..., Any] | None
    # It makes views that cannot be written: a method of a view that nobody else has, since whoever
    # has a view can make it writable again.
    _shown: Callable[[], np.ndarray[Any, Any]]
    # Set by the module of the context, which needs this class first.
    home: ClassVar[Context]

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over an array, or over anything that shares its bytes as an array does.

        Takes numpy arrays and whatever has DLPack, an array interface or the buffer protocol.

        Raises:
            LayoutError: a dtype without a fixed native layout (objects, structures, other byte
                orders).
            UnsupportedObjectError: it shares no bytes with the CPU.
        """
        found = _exchange.from_foreign(native)
        # By position: this is the call that wraps every array.
        tensor = cls(found.array, cls.home, found.owner, None, found.readonly)
        if found.dtype.numpy is None:
            strides = None if found.dtype.packed else found.array.strides
            tensor.known_info = TensorInfo(found.dtype, found.array.shape, strides)
        return tensor

    def host_array(self) -> np.ndarray[Any, Any]:
        """`native` itself."""
        return self.native

    def _native_to_read(self) -> np.ndarray[Any, Any]:
        try:
            return self._shown()
        except AttributeError:
            self._shown = self.context.readonly_native(self.native).view
            return self._shown()

    def _window(self, row: int, column: int, rows: int, columns: int) -> np.ndarray[Any, Any]:
        return self.native[row : row + rows, column : column + columns]

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        try:
            lent = self._lent
        except AttributeError:
            lent = self._lent = _exchange.lasting_export(self.native, self.dtype, self.readonly)
        usual = stream is None and not copy and (dl_device is None or dl_device == (1, 0))
        # The user may have made the array read-only since then.
        if usual and lent is not None and (self.readonly or self.native.flags.writeable):
            if max_version is not None and max_version[0] >= 1:
                return lent(max_version=(1, 0))
            try:
                return lent()
            except BufferError:  # read-only, which a legacy capsule cannot say
                pass
        return _exchange.as_capsule(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        self.native  # noqa: B018 - a closed tensor has none
        return (1, 0)


# For type checkers: with `class ToyContext(Context["ToyTensor", "ToyFrame"])`, `map(ToyContext)`
# returns a ToyTensor. At run time the parameters do nothing.
if TYPE_CHECKING:
    # Defaults of type variables are in typing from Python 3.13 on. The checkers know this module
    # without its being installed.
    from typing_extensions import TypeVar

    TensorT_co = TypeVar("TensorT_co", bound=Tensor, default=Tensor, covariant=True)
    FrameT_co = TypeVar("FrameT_co", bound=Frame, default=Frame[TensorT_co], covariant=True)
    AnyTensor = TypeVar("AnyTensor", bound=Tensor, default=Tensor)
    AnyFrame = TypeVar("AnyFrame", bound=Frame, default=Frame)

    class TypedFrame(Generic[TensorT_co]):
        """The base of Frame: its parameter is the class of its planes."""

    class TypedContext(Generic[TensorT_co, FrameT_co]):
        """The base of Context: its parameters are the classes of its tensors and frames."""

else:
    from typing import TypeVar

    TensorT_co = FrameT_co = AnyTensor = AnyFrame = TypeVar("AnyTensor")

    class TypedFrame:
        """See above; subscripting leaves the class as it is."""

        __slots__ = ()
        __class_getitem__ = classmethod(GenericAlias)

    TypedContext = TypedFrame
