# SPDX-License-Identifier: Apache-2.0
"""RemoteContext and RemoteTensor, the bases of the contexts and tensors of GPU and NPU."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import openvino

from samebytes import Context, Device, DType, Tensor, TensorInfo
from samebytes.errors import DeviceMismatchError, UnsupportedObjectError

from .._host._layout import from_element_type
from ._lifetimes import Leases, native_of

if TYPE_CHECKING:
    from typing import Self

    from .._request._compiled import CompiledModel
    from ._lifetimes import Leftovers

__all__ = [
    "RemoteContext",
    "RemoteTensor",
    "foreign_tensor",
    "layout_of",
    "native_in",
]

# The one place where an openvino.RemoteTensor shows its element type:
# "<RemoteTensor: shape[1,16] type: f32>", with a prefix for subclasses.
_REPR = re.compile(r"shape\[([\d,]*)\] type: (\w+)")

# Kinds of device, and where in this package their tensors are wrapped.
_WRAPPERS = {"GPU": "intel_gpu._context", "NPU": "intel_npu._context"}


def layout_of(native: Any) -> tuple[DType, tuple[int, ...]]:
    """dtype and shape of an openvino.RemoteTensor.

    Raises:
        LayoutError: its elements are strings.
        UnsupportedObjectError: this OpenVINO writes them in a way that is not known here.
    """
    found = _REPR.search(repr(native))
    theirs = getattr(openvino.Type, found[2], None) if found else None
    if found is None or theirs is None:
        raise UnsupportedObjectError(
            f"the element type of {native!r} is not known: pass the tensor that samebytes made"
        )
    shape = tuple(int(n) for n in found[1].split(",")) if found[1] else ()
    return from_element_type(theirs), shape


class RemoteTensor(Tensor):
    """A tensor in a remote context. `native` is an openvino.RemoteTensor.

    OpenVINO has no read-only tensors: if `readonly` is True, nothing but the flag says so.
    """

    __slots__ = ()

    native: openvino.RemoteTensor

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over the user's openvino.RemoteTensor.

        The memory that it was made over must live as long as it is used: OpenVINO keeps a cl_mem
        alive, but no USM, host memory or surface. Tensors that samebytes made keep those as well.

        Raises:
            UnsupportedObjectError: it is of another device than a GPU or an NPU.
            LayoutError: its elements are strings.
        """
        name = native.get_device_name()
        home = _WRAPPERS.get(name.partition(".")[0])
        if home is None:
            raise UnsupportedObjectError(f"remote tensors of {name!r} are not supported")
        wrapped: Self = import_module(f"samebytes_openvino.{home}").wrap(native)
        return wrapped

    def _again(self, readonly: bool) -> Self:
        """Another tensor over the same native."""
        return type(self).borrowed(
            self._held_native,
            self.context,
            keep=self.storage,
            readonly=readonly,
            info=self.known_info,
            parent=self,
        )

    @property
    def _held_native(self) -> Any:
        """The native, or the lease of it."""
        return self.native

    @property
    def _lent_native(self) -> Any:
        """`native` for this package, which uses it while the tensor lives: see `_lifetimes`."""
        return native_of(self._held_native)

    @property
    def params(self) -> dict[str, int | str]:
        """The properties reported by OpenVINO, pointers as ints: SHARED_MEM_TYPE, MEM_HANDLE ..."""
        from ._conversions import params_of  # not before there is a device

        return params_of(self._lent_native)

    def _replaced(self, leftovers: Leftovers) -> None:
        """Note that another tensor took its place on a request; for this package's requests.

        Args:
            leftovers: of that request.
        """

    def _describe(self) -> TensorInfo:
        return TensorInfo(*layout_of(self._lent_native))


def native_in(tensor: Tensor) -> Any:
    """The native of any tensor, for calls of this package that end before the tensor does."""
    return tensor._lent_native if isinstance(tensor, RemoteTensor) else tensor.native


class RemoteContext(Context[RemoteTensor]):
    """An openvino.RemoteContext as a samebytes context.

    There is one object for each set of native handles, since a tensor only works in requests of
    models that were compiled on the same openvino.RemoteContext.

    Attributes:
        core: the openvino.Core that it was made with.
        leases: the natives over memory of other frameworks, remembered by that memory.

    Raises:
        MissingDependencyError: OpenVINO is too old for remote contexts.
    """

    memory_type = "openvino"
    tensor_class = RemoteTensor

    def __init__(
        self,
        native: Any,
        core: Any,
        device: Device,
        handles: Mapping[str, int],
        parent: Context | None = None,
    ) -> None:
        from .._probe import check_for_devices  # not before there is a device

        check_for_devices()
        super().__init__(device, handles=handles, parent=parent)
        self._native = native
        self.core = core
        self.leases = Leases()

    @property
    def native(self) -> Any:
        """The openvino.RemoteContext."""
        return self._native

    @property
    def device_name(self) -> str:
        """OpenVINO's name of the device: "GPU.0", "NPU"."""
        name: str = self.native.get_device_name()
        return name

    @property
    def params(self) -> dict[str, int | str]:
        """The properties that OpenVINO reports about it, pointers as ints."""
        from ._conversions import params_of  # not before there is a device

        return params_of(self.native)

    def compile_model(self, model: Any, config: Mapping[Any, Any] | None = None) -> CompiledModel:
        """`samebytes_openvino.compile_model(model, self, config)`.

        Args:
            model: an openvino.Model.
            config: OpenVINO's properties.
        """
        from .._request._compiled import compile_model

        return compile_model(model, self, config)

    def _on_close(self) -> None:
        self.leases.forget()


_IMAGES = ("OCL_IMAGE2D", "VA_SURFACE")


def foreign_tensor(context: RemoteContext, native: Any) -> RemoteTensor:
    """An openvino.RemoteTensor as a tensor of `context`, which it is taken to belong to.

    Raises:
        DeviceMismatchError: it is of another device, or of another native context. Another
            openvino.RemoteContext over the same cl_context cannot be told apart.
        LayoutError, UnsupportedObjectError: as for `layout_of`.
    """
    from ._conversions import params_of  # not before there is a device

    name = native.get_device_name()
    if name != context.device_name:
        raise DeviceMismatchError(
            f"the tensor is of {name}, and the model was compiled on {context.device_name}"
        )
    params = params_of(native)
    for key in ("OCL_CONTEXT", "L0_CONTEXT"):
        theirs, ours = params.get(key), context.params.get(key)
        if theirs is not None and theirs != ours:
            raise DeviceMismatchError(
                f"the tensor's {key} is {theirs:#x}, and that of the model {ours:#x}: make it with "
                "the context that the model was compiled on"
            )
    element, shape = layout_of(native)
    info = TensorInfo(element, shape, opaque=params.get("SHARED_MEM_TYPE") in _IMAGES)
    make: Any = context.tensor_class
    tensor: RemoteTensor = make.borrowed(native, context, info=info)
    return tensor
