# SPDX-License-Identifier: Apache-2.0
"""RemoteContext, the base of the contexts of GPU and NPU, and tensors that OpenVINO made on one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from samebytes import Context, Device, TensorInfo
from samebytes.errors import DeviceMismatchError

from .._probe import check_for_devices
from ._leases import Leases
from ._tensor import RemoteTensor, layout_of
from ._values import params_of

if TYPE_CHECKING:
    from .._request._compiled import CompiledModel

__all__ = ["RemoteContext", "foreign_tensor"]


class RemoteContext(Context[RemoteTensor]):
    """An openvino.RemoteContext as a samebytes context.

    There is one object for each set of native handles, since a tensor works only in requests of
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
        """As OpenVINO names it: "GPU.0", "NPU"."""
        name: str = self.native.get_device_name()
        return name

    @property
    def params(self) -> dict[str, int | str]:
        """The properties that OpenVINO reports about it, pointers as ints."""
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
        DeviceMismatchError: it is of another device, or of another native context. That it is of
            another openvino.RemoteContext over the same cl_context cannot be seen.
        LayoutError, UnsupportedObjectError: as for `layout_of`.
    """
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
