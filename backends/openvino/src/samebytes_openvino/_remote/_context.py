# SPDX-License-Identifier: Apache-2.0
"""RemoteContext: what the contexts of GPU and NPU have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from samebytes import Context, Device

from .._version import check_for_devices
from ._leases import Leases
from ._tensor import RemoteTensor
from ._values import params_of

if TYPE_CHECKING:
    from .._request._compiled import CompiledModel

__all__ = ["RemoteContext"]


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
