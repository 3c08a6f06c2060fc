# SPDX-License-Identifier: Apache-2.0
"""What the ports of a request read and write. OpenVINO holds none of it, so it is held here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
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
from samebytes.plugins import HostContext, count_copy, data_address

from ._binding import Binding, Bound
from ._busy import BUSY_TOLD, check_busy
from ._context import OPENVINO
from ._element_types import element_type
from ._fit import (
    check_batch,
    check_kind,
    check_layout,
    check_output,
    check_remote,
    check_surface,
    is_dense,
)
from ._in_place import InPlace, dense_input
from ._places import Placement, Places
from ._ports import Port
from ._remote._context import RemoteContext
from ._remote._errors import RegionError, last_line
from ._remote._tensor import pin
from ._tensor import OpenVINOTensor

__all__ = ["Bindings"]


class Bindings:
    """The tensors that were set on one openvino.InferRequest.

    A tensor is used where it lies if the plugin does so, mapped to the context that the model was
    compiled on if that takes no copy, and else copied, if the user allowed it.

    Args:
        native: the request; None after it was closed.
        context: of the model, on a GPU or NPU; None for the CPU plugin, and for plugins that are
            not known here.
        places: what the plugin does with ordinary tensors.

    Attributes:
        must_run_async: an output is bound to memory that OpenVINO's infer() cannot return.
    """

    __slots__ = ("_bound", "_context", "_identities", "_native", "_places", "_takes_dense",
                 "must_run_async")  # fmt: skip

    def __init__(self, native: Any, context: RemoteContext | None, places: Places) -> None:
        self._native = native
        self._context = context
        self._places = places
        self._bound: dict[Port, Bound] = {}
        # The CPU plugin uses every dense input where it lies.
        self._takes_dense = context is None and places.own == "in place"
        self._identities: dict[Access, Callable[[Tensor], Tensor]] = {}
        self.must_run_async = False

    def bind(self, port: Port, value: Any, copy: bool, copied: bool = False) -> None:
        """Give `value` to OpenVINO, and hold it. `InferRequest.set_tensor` lists the errors.

        Args:
            copied: `value` is a copy already, of what the user gave.
        """
        if self._takes_dense and port.dense and not copied:
            found = dense_input(port, value)
            if found is not None and self._bind_dense(port, *found):
                return
        source = value if isinstance(value, Tensor) else self._wrapped(port, value)
        bound = self._find(port, source, copy)
        if source is not value and isinstance(value, openvino.RemoteTensor):
            assert bound.tensor is not None
            if self._places.may_be_region(bound.tensor):
                bound.placement = "unknown"
        if copied:
            bound.placement = "copied"
        assert bound.given is not None
        self._give(port, bound.given)
        if bound.pin is not None:
            # The plugin's import ends before the memory does.
            pin(bound.pin, bound.given.storage)
        self._hold(port, bound)

    def _bind_dense(self, port: Port, native: Any, source: Any) -> bool:
        try:
            self._native.set_input_tensor(port.index, native)
        except RuntimeError:
            return False  # the other way meets it again, and says what it means
        before = self._bound.get(port)
        self._bound[port] = InPlace(native, source, None if before is None else before.dense)
        return True

    def bind_batch(self, port: Port, values: Sequence[Any], copy: bool) -> None:
        """Give OpenVINO one tensor for each item of a batch, and hold them.

        Surfaces are used in place; the GPU plugin merges buffers; memory of the CPU is merged here.
        `InferRequest.set_tensors` lists the errors.
        """
        parts = [v if isinstance(v, Tensor) else self._wrapped(port, v) for v in values]
        check_batch(port, parts)
        if len(parts) == 1:
            self.bind(port, parts[0], copy)
            return
        remote = [part for part in map(self._in_context, parts) if part is not None]
        if len(remote) not in (0, len(parts)):
            raise LayoutError(
                f"{port}: a batch is all in the memory of the device, or all in that of the CPU"
            )
        if remote:
            self._bind_remote_batch(port, remote, copy)
        else:
            self._bind_merged(port, parts, copy)

    def planes_of(self, frame: Frame, copy: bool) -> tuple[tuple[Tensor, ...], bool]:
        """The planes of a frame in memory that can be bound, and whether that took a copy."""
        here, there = self._context, frame.context
        if here is None or isinstance(there, HostContext):
            return _planes_in_host_memory(frame, copy)
        if isinstance(there, RemoteContext):
            _check_context(here, there)
            return frame.planes, False
        try:
            return frame.map(here, "r").planes, False
        except RouteError as refused:
            try:
                return _planes_in_host_memory(frame, copy)
            except CopyRequiredError:
                raise
            except RouteError:
                raise refused from None

    def tensor_of(self, port: Port) -> Tensor:
        """What was set, or else a tensor over the request's own memory."""
        bound = self._bound.get(port)
        if bound is not None and bound.tensor is not None:
            where = bound.tensor.context
            target = where if isinstance(where, RemoteContext) else OPENVINO
            return bound.tensor.map(target, "rw" if port.kind == "output" else "r")
        if bound is not None:
            raise LayoutError(f"{port} was set as a batch of tensors: it has no single one")
        if port.element is None:
            raise LayoutError(f"{port} holds strings, which cannot be shared: get them natively")
        try:
            # OpenVINO shares the ownership of memory that it allocated with this object.
            with BUSY_TOLD:
                native = self._native.get_tensor(port.native)
        except RuntimeError as error:
            raise LayoutError(
                f"{port} has no memory of its own, as an input of GPU_SURFACE memory: set a tensor"
            ) from error
        return OpenVINOTensor.borrowed(native, OPENVINO, keep=self._native)

    def output_context(self, ports: Sequence[Port]) -> Context | None:
        """Where the outputs lie, or None if they lie in different memory."""
        there = [self._is_remote(self._bound.get(port)) for port in ports]
        if all(there):
            return self._context
        return None if any(there) else OPENVINO

    def report(self, port: Port) -> Binding:
        """How the port is bound."""
        bound = self._bound.get(port)
        if bound is None:
            placement = "copied" if self._converts(port) else self._places.own
            return Binding(port.kind, port.name, None, placement)
        placement = bound.placement
        if self._context is None and placement == "in place" and not self._is_there(port, bound):
            placement = "unknown"
        return Binding(port.kind, port.name, bound.tensor, placement, bound.batch)

    def count_plugin_copies(self) -> None:
        """Count what the plugin copied in the inference that was just started."""
        for port, bound in self._bound.items():
            if bound.plugin_copies:
                count_copy(f"openvino -> {port}", bound.plugin_copies)

    def flush_outputs(self) -> None:
        """Publish what an inference wrote to memory of other frameworks."""
        for port, bound in self._bound.items():
            if port.kind == "output" and bound.given is not None:
                bound.given.flush()

    def _wrapped(self, port: Port, value: Any) -> Tensor:
        """The user's own object as a tensor."""
        if isinstance(value, openvino.RemoteTensor) and self._context is not None:
            # Not at the top: programs for the CPU need none of it.
            from ._remote._foreign import foreign_tensor

            return foreign_tensor(self._context, value)
        check_kind(port, value)
        return samebytes.tensor(value)

    def _find(self, port: Port, source: Tensor, copy: bool) -> Bound:
        access: Access = "w" if port.kind == "output" else "r"
        refusals: list[str] = []
        if source.context is self._context:
            # Found once for all: what map() does first, to look a context up, costs as much again.
            return self._remote(port, self._same(access)(source), copy)
        if self._context is not None and not isinstance(source.context, HostContext):
            remote = self._try_remote(source, access, refusals)
            if remote is not None:
                return self._remote(port, remote, copy)
        return self._host(port, source, access, copy, refusals)

    def _same(self, access: Access) -> Callable[[Tensor], Tensor]:
        """The mapping of the context's own tensors, which holds them."""
        found = self._identities.get(access)
        if found is None:
            assert self._context is not None
            found = self._context.compile_route("tensor", self._context, access, False)
            self._identities[access] = found
        return found

    def _remote(self, port: Port, tensor: Tensor, copy: bool) -> Bound:
        """A tensor of this context, whole: used in place, unless its elements are converted."""
        check_layout(port, tensor.info)
        check_remote(port, tensor, self._places)
        if self._converts(port):
            if not copy:
                raise _needs_copy(port, tensor, [_conversion(port)])
            return Bound(tensor, tensor, "copied", tensor.info.nbytes)
        return Bound(tensor, tensor, "in place")

    def _host(
        self, port: Port, source: Tensor, access: Access, copy: bool, refusals: list[str]
    ) -> Bound:
        """A tensor in memory of the CPU: in place if the plugin does so, else remote or copied."""
        if source.context is OPENVINO:
            source.info  # asked here, the user's tensor remembers it; a mapping is new  # noqa: B018
        host = self._try_host(source, access, refusals)
        # Said last: what the plugin says of memory that it does not know seldom is the cause.
        of_plugin: list[str] = []
        if host is not None:
            info = host.info
            check_layout(port, info)
            dense = is_dense(port, info, host.native)
            if access == "w":
                check_output(port, dense, info)
            check_surface(port, False, self._places)
            bound = self._in_place(port, host, dense, of_plugin)
            if bound is not None:
                return bound
        if isinstance(source.context, HostContext) and not self._converts(port):
            remote = self._try_remote(source, access, refusals)
            if remote is not None:
                return self._remote(port, remote, copy)
        if not copy or (host is None and access == "w"):
            raise _needs_copy(port, source, [*refusals, *of_plugin])
        if host is None:
            host = source.map("openvino", access, copy=True)
            check_layout(port, host.info)
            dense = is_dense(port, host.info, host.native)
            if self._context is None and dense:
                return Bound(host, host, "copied")
        if access == "w" or (self._converts(port) and dense):
            return Bound(host, host, "copied", host.info.nbytes)
        return self._densely(port, host)

    def _in_place(self, port: Port, host: Tensor, dense: bool, refusals: list[str]) -> Bound | None:
        if self._converts(port):
            refusals.append(_conversion(port))
        elif not dense:
            refusals.append(f"strides {host.strides} leave gaps, and {self._places.gaps}")
        elif 0 in host.info.shape:
            return Bound(host, host, self._places.own)
        else:
            placement, reason, pin_ = self._places.look(host.native, port.kind == "output")
            if placement != "copied":
                return Bound(host, host, placement, 0, pin_)
            refusals.append(reason)
        return None

    def _try_remote(self, source: Tensor, access: Access, refusals: list[str]) -> Tensor | None:
        if self._context is None:
            return None
        if isinstance(source.context, RemoteContext):
            _check_context(self._context, source.context)
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
            if not refusals or self._context is None:
                raise
            ends = source.context.node, self._context.node
            raise NoRouteError(*ends, [*refusals, *refused.reasons]) from refused

    def _give(self, port: Port, given: Tensor) -> None:
        """OpenVINO's set_tensor(): by index, or by name for a remote tensor, which it wants."""
        native, request = given.native, self._native
        try:
            if given.context is not OPENVINO:
                if port.names:
                    request.set_tensor(port.names[0], native)
                else:
                    request.set_tensor(port.native, _carry(given))
            elif port.kind == "input":
                request.set_input_tensor(port.index, native)
            else:
                request.set_output_tensor(port.index, native)
        except RuntimeError as error:
            check_busy(error)
            raise LayoutError(f"{port} takes no such tensor: {_why(error)}") from error

    def _hold(self, port: Port, bound: Bound) -> None:
        before = self._bound.get(port)
        if before is not None and bound.dense is None:
            bound.dense = before.dense
        self._bound[port] = bound
        if port.kind == "output":
            self.must_run_async = any(
                p.kind == "output" and self._is_remote(b) for p, b in self._bound.items()
            )

    def _bind_remote_batch(self, port: Port, parts: list[Tensor], copy: bool) -> None:
        assert self._context is not None
        if any(self._places.may_be_region(part) for part in parts):
            raise RegionError(
                f"{port}: a batch takes whole tensors, and one of these may be a region of another"
            )
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
            raise _needs_copy(port, parts[0], [reason])
        check_surface(port, bool(surfaces), self._places)
        natives = [_carry(part) for part in parts]
        try:
            with BUSY_TOLD:
                self._native.set_tensors(port.native, natives)
        except RuntimeError as error:
            raise LayoutError(f"{port} takes no such batch: {last_line(error)}") from error
        merged = 0 if surfaces else sum(part.info.nbytes for part in parts)
        placement: Placement = "in place" if surfaces else "copied"
        self._hold(port, Bound(None, None, placement, merged, None, tuple(parts)))

    def _bind_merged(self, port: Port, parts: Sequence[Tensor], copy: bool) -> None:
        if not copy:
            reason = (
                f"{len(parts)} tensors become one piece of memory: allocate the batch as one "
                "tensor, and write each item to its part"
            )
            edge = f"openvino -> {port}"
            raise CopyRequiredError(parts[0].memory_type, str(port), edge, [reason])
        check_surface(port, False, self._places)
        hosts = [_in_host_memory(part, True)[0] for part in parts]
        dense = self._dense(port, (len(parts), *parts[0].shape[1:]), parts[0])
        whole = dense.host_array()
        for index, host in enumerate(hosts):
            np.copyto(whole[index : index + 1], host.host_array())
        count_copy(f"openvino -> {port}", dense.info.nbytes)
        self._give(port, dense)
        bound = Bound(dense, dense, "copied", batch=tuple(parts))
        bound.dense = dense
        self._hold(port, bound)

    def _densely(self, port: Port, tensor: Tensor) -> Bound:
        dense = self._dense(port, tensor.shape, tensor)
        np.copyto(dense.host_array(), tensor.host_array())
        count_copy(f"openvino -> {port}", tensor.info.nbytes)
        bound = Bound(tensor, dense, "copied")
        bound.dense = dense
        return bound

    def _dense(self, port: Port, shape: tuple[int, ...], like: Tensor) -> Tensor:
        before = self._bound.get(port)
        if before is not None and before.dense is not None and before.dense.shape == shape:
            return before.dense
        if self._context is None:
            return OPENVINO.allocate(shape, like.dtype)
        # Memory that the plugin uses in place, so that the copy made here is the only one.
        native = self._context.native.create_host_tensor(
            element_type(like.dtype), openvino.Shape(shape)
        )
        return OpenVINOTensor.borrowed(native, OPENVINO)

    def _in_context(self, part: Tensor) -> Tensor | None:
        """The item of a batch in the memory of the device, or None for memory of the CPU."""
        if isinstance(part.context, HostContext):
            return None
        return self._try_remote(part, "r", [])

    def _is_remote(self, bound: Bound | None) -> bool:
        if self._context is None or bound is None or bound.tensor is None:
            return False
        return bound.tensor.context is self._context

    def _is_there(self, port: Port, bound: Bound) -> bool:
        """Whether OpenVINO's tensor lies where the one that was set does."""
        if port.element is None or bound.tensor is None:
            return False
        with BUSY_TOLD:
            there = data_address(self._native.get_tensor(port.native).data)
        return bool(there == bound.tensor.handle("data"))

    def _converts(self, port: Port) -> bool:
        element = port.element
        return element is not None and element.name in self._places.converts


def _planes_in_host_memory(frame: Frame, copy: bool) -> tuple[tuple[Tensor, ...], bool]:
    ours, copied = _in_host_memory(frame, copy)
    return ours.planes, copied


def _in_host_memory(source: Any, copy: bool) -> tuple[Any, bool]:
    """A tensor or frame in OpenVINO's memory, to be read, and whether that took a copy."""
    try:
        return source.map("openvino", "r"), False
    except CopyRequiredError:
        if not copy:
            raise
    return source.map("openvino", "r", copy=True), True


def _check_context(context: RemoteContext, theirs: RemoteContext) -> None:
    if theirs is not context:
        raise DeviceMismatchError(
            f"the tensor is of {theirs!r}, and the model was compiled on {context!r}: "
            "OpenVINO uses a tensor only in models of the very context that made it. Compile "
            "the model on that one, or make the tensor with this one"
        )


def _carry(tensor: Tensor) -> Any:
    """A remote tensor as an openvino.Tensor, which OpenVINO takes by port and in batches."""
    # Not at the top: it makes a model, and is seldom needed.
    from ._remote._carrier import carried

    return carried(tensor.native, element_type(tensor.dtype), len(tensor.shape))


def _conversion(port: Port) -> str:
    return f"the GPU plugin has no {port.element} and converts it at each inference"


def _needs_copy(port: Port, source: Tensor, reasons: list[str]) -> CopyRequiredError:
    return CopyRequiredError(source.context.node, str(port), f"openvino -> {port}", reasons)


def _why(error: RuntimeError) -> str:
    """What the plugin has against a tensor, of its message of several lines."""
    if "non-contiguous" in str(error):
        return "it is a region that leaves gaps, which this driver cannot read or write in place"
    return last_line(error)
