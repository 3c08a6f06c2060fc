# SPDX-License-Identifier: Apache-2.0
"""What the ports of a request on a GPU or NPU read and write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import openvino

import samebytes
from samebytes import Access, Context, Frame, Tensor
from samebytes.errors import (
    CopyRequiredError,
    DeviceMismatchError,
    LayoutError,
    NoRouteError,
    RouteError,
    UnsupportedObjectError,
)
from samebytes.plugins import HostContext, count_copy

from .._bindings import (
    Binding,
    Bindings,
    Placement,
    check_kind,
    check_output,
    mapped,
)
from .._busy import BUSY_TOLD
from .._context import OPENVINO
from .._element_types import element_type
from .._ports import Port, check_batch, check_layout
from .._tensor import OpenVINOTensor
from ._carrier import carried
from ._context import RemoteContext
from ._errors import last_line
from ._fit import check_remote
from ._foreign import foreign_tensor
from ._placement import places_of
from ._tensor import pin

__all__ = ["RemoteBindings"]


@dataclass(frozen=True, slots=True)
class _Bound:
    """A tensor that OpenVINO can be given, and what comes of it.

    Attributes:
        tensor: what get_tensor() will give.
        given: what OpenVINO is given: the same, or a dense copy.
        plugin_copies: the plugin copies it at each inference.
        pin: see `Place`.
    """

    tensor: Tensor
    given: Tensor
    placement: Placement
    plugin_copies: bool = False
    pin: Any = None


class RemoteBindings(Bindings):
    """The tensors that were set on one openvino.InferRequest of a GPU or NPU."""

    __slots__ = ("_context", "_pins", "_placements", "_places", "_plugin_copies")

    def __init__(self, native: Any, context: RemoteContext) -> None:
        super().__init__(native, False)
        self._context = context
        self._places = places_of(context)
        self._placements: dict[Port, Placement] = {}
        self._pins: dict[Port, Any] = {}
        # Bytes that the plugin copies at each inference.
        self._plugin_copies: dict[Port, int] = {}

    def bind(self, port: Port, value: Any, copy: bool, copied: bool = False) -> None:
        """Give `value` to OpenVINO, and hold it. `InferRequest.set_tensor` lists the errors."""
        check_kind(port, value)
        bound = self._find(port, self._wrapped(value), copy)
        placement = "copied" if copied else bound.placement
        if isinstance(value, openvino.RemoteTensor) and self._places.may_be_region(bound.tensor):
            placement = "unknown"
        native = self._as_tensor(port, bound.given)
        with BUSY_TOLD:
            if isinstance(native, openvino.RemoteTensor):
                self._native.set_tensor(port.name, native)
            else:
                self._native.set_tensor(port.native, native)
        self._hold(port, bound.tensor, bound.given, placement)
        if bound.plugin_copies:
            self._plugin_copies[port] = bound.given.info.nbytes
        if bound.pin is not None:
            # The plugin's import ends before the memory does.
            self._pins[port] = pin(bound.pin, bound.given.storage)

    def bind_batch(self, port: Port, values: Sequence[Any], copy: bool) -> None:
        """Give OpenVINO one tensor for each item of a batch, and hold them.

        Surfaces are used in place; the plugin merges buffers; memory of the CPU is merged here.
        """
        for value in values:
            check_kind(port, value)
        parts = [self._wrapped(value) for value in values]
        check_batch(port, parts)
        if len(parts) == 1:
            self.bind(port, parts[0], copy)
            return
        here = [self._in_context(part) for part in parts]
        remote = [part for part in here if part is not None]
        if len(remote) not in (0, len(parts)):
            raise LayoutError(
                f"{port}: a batch is all in the memory of the device, or all in that of the CPU"
            )
        if remote:
            self._bind_remote_batch(port, remote, copy)
        else:
            self._bind_merged(port, parts, copy)
            self._placements[port] = "copied"
            self._plugin_copies.pop(port, None)
            self._pins.pop(port, None)

    def planes_of(self, frame: Frame, copy: bool) -> tuple[tuple[Tensor, ...], bool]:
        """The planes of a frame in memory that can be bound, and whether that took a copy."""
        context = frame.context
        if isinstance(context, RemoteContext):
            self._check_context(context)
            return frame.planes, False
        if not isinstance(context, HostContext):
            try:
                return frame.map(self._context, "r").planes, False
            except RouteError as refused:
                try:
                    return super().planes_of(frame, copy)
                except CopyRequiredError:
                    raise
                except RouteError:
                    raise refused from None
        return super().planes_of(frame, copy)

    def tensor_of(self, port: Port) -> Tensor:
        """What was set, or else a tensor over the request's own memory."""
        tensor = self._set.get(port)
        if tensor is not None and isinstance(tensor.context, RemoteContext):
            return tensor.map(tensor.context, "rw" if port.kind == "output" else "r")
        if tensor is None and port in self._batches:
            raise LayoutError(f"{port} was set as a batch of tensors: it has no single one")
        try:
            return super().tensor_of(port)
        except RuntimeError as error:
            raise LayoutError(
                f"{port} has no memory of its own, as an input of GPU_SURFACE memory: set a tensor"
            ) from error

    def output_context(self, ports: Sequence[Port]) -> Context | None:
        """Where the outputs lie, or None if they lie in different memory."""
        there = [port in self._set and self._set[port].context is self._context for port in ports]
        if all(there):
            return self._context
        return None if any(there) else OPENVINO

    def report(self, port: Port) -> Binding:
        """How the port is bound."""
        placement = self._placements.get(port)
        if placement is None:
            placement = "copied" if self._converts(port) else self._places.own
        batch = self._batches.get(port, ())
        return Binding(port.kind, port.name, self._set.get(port), placement, batch)

    def count_plugin_copies(self) -> None:
        """Count what the plugin copied in the inference that was just started."""
        for port, nbytes in self._plugin_copies.items():
            count_copy(f"openvino -> {port}", nbytes)

    def _wrapped(self, value: Any) -> Tensor:
        if isinstance(value, openvino.RemoteTensor):
            return foreign_tensor(self._context, value)
        if isinstance(value, Tensor):
            return value
        return samebytes.tensor(value)

    def _find(self, port: Port, source: Tensor, copy: bool) -> _Bound:
        access: Access = "w" if port.kind == "output" else "r"
        refusals: list[str] = []
        if not isinstance(source.context, HostContext):
            remote = self._try_remote(source, access, refusals)
            if remote is not None:
                return self._remote(port, remote, copy)
        return self._host(port, source, access, copy, refusals)

    def _remote(self, port: Port, tensor: Tensor, copy: bool) -> _Bound:
        """A tensor of this context, whole: used in place, unless its elements are converted."""
        check_layout(port, tensor)
        check_remote(port, tensor, self._places)
        if self._converts(port):
            if not copy:
                raise self._needs_copy(port, tensor, [self._conversion(port)])
            return _Bound(tensor, tensor, "copied", plugin_copies=True)
        return _Bound(tensor, tensor, "in place")

    def _host(
        self, port: Port, source: Tensor, access: Access, copy: bool, refusals: list[str]
    ) -> _Bound:
        """A tensor in memory of the CPU: in place if the plugin does so, else remote or copied."""
        host = self._try_host(source, access, refusals)
        if host is not None:
            check_layout(port, host)
            if access == "w":
                check_output(port, host)
            bound = self._in_place(port, host, refusals)
            if bound is not None:
                return bound
        if isinstance(source.context, HostContext) and not self._converts(port):
            remote = self._try_remote(source, access, refusals)
            if remote is not None:
                return self._remote(port, remote, copy)
        if not copy or (host is None and access == "w"):
            raise self._needs_copy(port, source, refusals)
        if host is None:
            host = mapped(source, access, True)[0]
            check_layout(port, host)
        if access == "w" or (self._converts(port) and host.native.is_continuous()):
            return _Bound(host, host, "copied", plugin_copies=True)
        return _Bound(host, self._densely(port, host), "copied")

    def _in_place(self, port: Port, host: Tensor, refusals: list[str]) -> _Bound | None:
        if self._converts(port):
            refusals.append(self._conversion(port))
        elif not host.native.is_continuous():
            refusals.append(
                f"strides {host.strides} leave gaps, and the plugin would read them as data"
            )
        elif not host.info.nbytes:
            return _Bound(host, host, "in place")
        else:
            place = self._places.look(host.native, port.kind == "output")
            if place.placement != "copied":
                return _Bound(host, host, place.placement, pin=place.pin)
            refusals.append(place.reason)
        return None

    def _bind_remote_batch(self, port: Port, parts: list[Tensor], copy: bool) -> None:
        surfaces = [part for part in parts if part.info.strides is None]
        if len(surfaces) not in (0, len(parts)):
            raise LayoutError(f"{port}: a batch is all of surfaces, or all of buffers")
        if not self._places.takes_remote_batches:
            raise UnsupportedObjectError(
                f"{port}: the {self._context.device_name} plugin takes no batch of remote tensors: "
                "allocate the batch as one tensor, and write each item to its part"
            )
        if not surfaces and not copy:
            reason = (
                f"the GPU plugin merges {len(parts)} buffers into one: allocate the batch as one "
                "tensor, and write each item to its part"
            )
            raise self._needs_copy(port, parts[0], [reason])
        natives = [self._carry(port, part) for part in parts]
        try:
            with BUSY_TOLD:
                self._native.set_tensors(port.native, natives)
        except RuntimeError as error:
            raise LayoutError(f"{port} takes no such batch: {last_line(error)}") from error
        self._drop(port)
        self._batches[port] = tuple(parts)
        self._placements[port] = "in place" if surfaces else "copied"
        if not surfaces:
            self._plugin_copies[port] = sum(part.info.nbytes for part in parts)

    def _hold(self, port: Port, tensor: Tensor, given: Tensor, placement: Placement) -> None:
        self._drop(port)
        self._set[port] = tensor
        self._given[port] = given
        self._placements[port] = placement
        self.must_run_async = any(
            p.kind == "output" and isinstance(t.context, RemoteContext)
            for p, t in self._set.items()
        )

    def _drop(self, port: Port) -> None:
        for table in (self._pins, self._set, self._given, self._batches, self._plugin_copies):
            table.pop(port, None)

    def _try_remote(self, source: Tensor, access: Access, refusals: list[str]) -> Tensor | None:
        if isinstance(source.context, RemoteContext):
            self._check_context(source.context)
        try:
            return source.map(self._context, access)
        except RouteError as refused:
            reasons: Sequence[str] = getattr(refused, "reasons", ())
            refusals.extend(reasons or [str(refused)])
            return None

    def _try_host(self, source: Tensor, access: Access, refusals: list[str]) -> Tensor | None:
        try:
            return source.map("openvino", access)
        except CopyRequiredError as refused:
            refusals.extend(refused.reasons or [str(refused)])
            return None
        except NoRouteError as refused:
            if not refusals:
                raise
            ends = source.context.node, self._context.node
            raise NoRouteError(*ends, [*refusals, *refused.reasons]) from refused

    def _in_context(self, part: Tensor) -> Tensor | None:
        """The item of a batch in the memory of the device, or None for memory of the CPU."""
        if isinstance(part.context, HostContext):
            return None
        return self._try_remote(part, "r", [])

    def _check_context(self, context: RemoteContext) -> None:
        if context is not self._context:
            raise DeviceMismatchError(
                f"the tensor is of {context!r}, and the model was compiled on {self._context!r}: "
                "OpenVINO uses a tensor only in models of the very context that made it. Compile "
                "the model on that one, or make the tensor with this one"
            )

    def _converts(self, port: Port) -> bool:
        element = port.element
        return element is not None and element.name in self._places.converts

    def _conversion(self, port: Port) -> str:
        return f"the GPU plugin has no {port.element} and converts it at each inference"

    def _needs_copy(self, port: Port, source: Tensor, reasons: list[str]) -> CopyRequiredError:
        return CopyRequiredError(source.context.node, str(port), f"openvino -> {port}", reasons)

    def _as_tensor(self, port: Port, given: Tensor) -> Any:
        """What set_tensor() takes for it: a remote tensor by name, all else by port."""
        native = given.native
        if isinstance(native, openvino.RemoteTensor) and not port.names:
            return self._carry(port, given)
        return native

    def _carry(self, port: Port, tensor: Tensor) -> Any:
        element = element_type(tensor.dtype)
        return carried(tensor.native, element, len(tensor.shape))

    def _allocate(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        # Memory that the plugin uses in place, so that the copy made here is the only one.
        native = self._context.native.create_host_tensor(
            element_type(like.dtype), openvino.Shape(shape)
        )
        return OpenVINOTensor(native, OPENVINO, native, None, False)
