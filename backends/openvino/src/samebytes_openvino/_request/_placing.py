# SPDX-License-Identifier: Apache-2.0
"""Find the memory in which a tensor, or the items of a batch, can be bound to a port.

Surfaces are used in place; the GPU plugin merges buffers; memory of the CPU is merged here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino

import samebytes
from samebytes import Access, CpuTensor, Frame, Tensor
from samebytes.errors import (
    CopyRequiredError,
    DeviceMismatchError,
    LayoutError,
    NoRouteError,
    RouteError,
    SamebytesError,
    UnsupportedObjectError,
)
from samebytes.plugins import HostContext, count_copy, data_address

from .._errors import RegionError
from .._host._layout import element_type
from .._host._pinned import PinnedTensor, ReadOnlyTensor
from .._host._tensor import OPENVINO, OpenVINOTensor
from .._remote._context import RemoteContext, RemoteTensor, foreign_tensor
from ._binding import (
    Bound,
    PlacementRules,
    check_kind,
    check_layout,
    check_output,
    check_remote,
    check_surface,
    is_dense,
)
from ._ports import Port

__all__ = [
    "Placer",
    "dense_input",
    "in_host_memory",
    "needs_copy",
    "place_batch",
    "with_padding",
]


class Placer:
    """Finds the memory in which a tensor is bound: its own, a mapping to the device, or a copy.

    Args:
        context: of the model, on a GPU or NPU; None for others.
        rules: what the plugin does with ordinary tensors.
    """

    __slots__ = ("_copies", "context", "rules")

    def __init__(self, context: RemoteContext | None, rules: PlacementRules) -> None:
        self.context = context
        self.rules = rules
        # Memory for copies, which is used again for each frame.
        self._copies: dict[Port, Tensor] = {}

    def wrap(self, port: Port, value: Any) -> Tensor:
        """The user's own object as a tensor."""
        if isinstance(value, openvino.RemoteTensor) and self.context is not None:
            return foreign_tensor(self.context, value)
        check_kind(port, value)
        return samebytes.tensor(value)

    def in_context(self, part: Tensor) -> Tensor | None:
        """The item of a batch in the memory of the device, or None for memory of the CPU."""
        if isinstance(part.context, HostContext):
            return None
        return self._try_remote(part, "r", [])

    def planes_of(self, frame: Frame, copy: bool) -> tuple[tuple[Tensor, ...], bool]:
        """The planes of a frame in memory that can be bound, and whether that took a copy."""
        here, there = self.context, frame.context
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

    def converts(self, port: Port) -> bool:
        """True if the plugin converts the port's elements at each inference."""
        element = port.element
        return element is not None and element.name in self.rules.converts

    def _may_be_remote(self, port: Port) -> bool:
        """False if the plugin converts the port's elements, or takes no remote tensors of them."""
        element = port.element
        is_input = port.kind == "input"
        refused = is_input and element is not None and element.name in self.rules.refuses_remote
        return not (refused or self.converts(port))

    def dense(self, port: Port, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Dense memory for copies of what is bound to a port."""
        before = self._copies.get(port)
        if before is not None and before.shape == shape:
            return before
        made = self._copies[port] = self._new_dense(shape, like)
        return made

    def _new_dense(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        if self.context is None:
            return OPENVINO.allocate(shape, like.dtype)
        # Memory that the plugin uses in place, so that the copy made here is the only one.
        native = self.context.native.create_host_tensor(
            element_type(like.dtype), openvino.Shape(shape)
        )
        return OpenVINOTensor.borrowed(native, OPENVINO)

    def place(self, port: Port, source: Tensor, copy: bool) -> Bound:
        """The binding for `source`. `InferRequest.set_tensor` lists the errors."""
        access: Access = "w" if port.kind == "output" else "r"
        refusals: list[str] = []
        if source.context is self.context:
            return self._remote(port, _again(source, access), copy)
        if self.context is not None and not isinstance(source.context, HostContext):
            remote = self._try_remote(source, access, refusals)
            if remote is not None:
                return self._remote(port, remote, copy)
        return self._host(port, source, access, copy, refusals)

    def _remote(self, port: Port, tensor: Tensor, copy: bool) -> Bound:
        """A tensor of this context, whole: used in place, unless its elements are converted."""
        check_layout(port, tensor.info)
        check_remote(port, tensor, self.rules)
        if self.converts(port):
            if not copy:
                raise needs_copy(port, tensor, [_conversion(port)])
            return Bound(tensor, tensor, "copied", tensor.info.nbytes)
        return Bound(tensor, tensor, "in place")

    def _host(
        self, port: Port, source: Tensor, access: Access, copy: bool, refusals: list[str]
    ) -> Bound:
        """A tensor in memory of the CPU: in place if the plugin does so, else remote or copied."""
        if source.context is OPENVINO:
            source.info  # asked here, the user's tensor remembers it; a mapping is new  # noqa: B018
        host = self._try_host(source, access, refusals)
        # Reported last: the plugin's own reasons are seldom the cause.
        of_plugin: list[str] = []
        if host is not None:
            info = host.info
            check_layout(port, info)
            dense = is_dense(port, info, host.native)
            if access == "w":
                check_output(port, dense, info)
            check_surface(port, False, self.rules)
            bound = self._in_place(port, host, dense, of_plugin)
            if bound is not None:
                return bound
        if isinstance(source.context, HostContext) and self._may_be_remote(port):
            remote = self._try_remote(source, access, refusals)
            if remote is not None:
                return self._remote(port, remote, copy)
        if not copy or (host is None and access == "w"):
            raise needs_copy(port, source, [*refusals, *of_plugin])
        if host is None:
            host = source.map("openvino", access, copy=True)
            check_layout(port, host.info)
            dense = is_dense(port, host.info, host.native)
            if self.context is None and dense:
                return Bound(host, host, "copied")
        if access == "w" or (self.converts(port) and dense):
            return Bound(host, host, "copied", host.info.nbytes)
        return self._densely(port, host)

    def _in_place(self, port: Port, host: Tensor, dense: bool, refusals: list[str]) -> Bound | None:
        if self.converts(port):
            refusals.append(_conversion(port))
        elif not dense:
            refusals.append(f"strides {host.strides} leave gaps, and {self.rules.gaps}")
        elif 0 in host.info.shape:
            return Bound(host, host, self.rules.own)
        else:
            placement, reason, pin_ = self.rules.look(host.native, port.kind == "output")
            if placement != "copied":
                return Bound(host, host, placement, 0, pin_)
            refusals.append(reason)
        return None

    def _try_remote(self, source: Tensor, access: Access, refusals: list[str]) -> Tensor | None:
        if self.context is None:
            return None
        if isinstance(source.context, RemoteContext):
            _check_context(self.context, source.context)
        try:
            return source.map(self.context, access)
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
            if not refusals or self.context is None:
                raise
            ends = source.context.node, self.context.node
            raise NoRouteError(*ends, [*refusals, *refused.reasons]) from refused

    def _densely(self, port: Port, tensor: Tensor) -> Bound:
        dense = self.dense(port, tensor.shape, tensor)
        np.copyto(dense.host_array(), tensor.host_array())
        count_copy(f"openvino -> {port}", tensor.info.nbytes)
        return Bound(tensor, dense, "copied")


def _planes_in_host_memory(frame: Frame, copy: bool) -> tuple[tuple[Tensor, ...], bool]:
    ours, copied = in_host_memory(frame, copy)
    return ours.planes, copied


def in_host_memory(source: Any, copy: bool) -> tuple[Any, bool]:
    """A tensor or frame in OpenVINO's memory, to be read, and whether that took a copy."""
    try:
        return source.map("openvino", "r"), False
    except CopyRequiredError:
        if not copy:
            raise
    return source.map("openvino", "r", copy=True), True


def _again(source: Tensor, access: Access) -> Tensor:
    """Another tensor over the same remote memory, which holds it when the user closes theirs."""
    if access == "r" or not source.readonly:
        assert isinstance(source, RemoteTensor)
        return source._again(readonly=access == "r")
    return source.map(source.context, access)  # raises


def _check_context(context: RemoteContext, theirs: RemoteContext) -> None:
    if theirs is not context:
        raise DeviceMismatchError(
            f"the tensor is of {theirs!r}, and the model was compiled on {context!r}: "
            "OpenVINO uses a tensor only in models of the very context that made it. Compile "
            "the model on that one, or make the tensor with this one"
        )


def with_padding(port: Port, plane: Tensor) -> Tensor:
    """Return a plane, with the padding of its rows if the port takes that too.

    A plane with padded rows is a region of a dense tensor of whole rows (see `_host/_layout.py`),
    which is what such a port takes.
    """
    if plane.context is not OPENVINO or port.shape is None or plane.shape == port.shape:
        return plane
    region = plane.native
    whole = getattr(region, "pin", None)
    if whole is None or tuple(whole.shape) != port.shape:
        return plane
    if data_address(whole.data) != data_address(region.data):
        return plane  # the memory ends with the last pixel: its padding is before it
    return OpenVINOTensor.borrowed(
        whole, OPENVINO, keep=plane.storage, readonly=plane.readonly, parent=plane.parent
    )


def _conversion(port: Port) -> str:
    return f"the GPU plugin has no {port.element} and converts it at each inference"


def needs_copy(port: Port, source: Tensor, reasons: list[str]) -> CopyRequiredError:
    return CopyRequiredError(source.context.node, str(port), f"openvino -> {port}", reasons)


_HOST_NATIVES = (openvino.Tensor, PinnedTensor, ReadOnlyTensor)


def dense_input(port: Port, value: Any) -> tuple[Any, Any] | None:
    """The openvino.Tensor for an input, and the object whose native it is.

    None if a closer look is needed: the tensor has not exactly the port's layout, or is not in
    memory of the CPU; or the port takes more than one layout.
    """
    kind = type(value)
    if kind is np.ndarray or kind is CpuTensor:
        try:
            value = (samebytes.tensor(value) if kind is np.ndarray else value).map(OPENVINO, "r")
        except SamebytesError:
            return None  # the closer look says why
    elif kind in _HOST_NATIVES:
        if value.element_type != port.type or port.type is None:
            return None
        array = value.data
        if array.shape != port.shape or array.strides != port.strides:
            return None
        return value, value
    elif kind is not OpenVINOTensor:
        return None
    info = value.known_info or value.info
    if info.dtype is port.element and info.shape == port.shape and info.strides == port.strides:
        return value.native, value
    return None


_ONE_TENSOR = "allocate the batch as one tensor, and write each item to its part"


def place_batch(placer: Placer, port: Port, parts: Sequence[Tensor], copy: bool) -> Bound:
    """The binding of several items: the items themselves, or one tensor made of them.

    Args:
        placer: of the request.
        parts: the items, which `check_batch` has seen.
        copy: allow the merging.
    """
    remote = [part for part in map(placer.in_context, parts) if part is not None]
    if len(remote) not in (0, len(parts)):
        raise LayoutError(
            f"{port}: a batch must lie in device memory or in CPU memory, not in both"
        )
    if remote:
        return _place_remote(placer, port, remote, copy)
    return _merge(placer, port, parts, copy)


def _place_remote(placer: Placer, port: Port, parts: Sequence[Tensor], copy: bool) -> Bound:
    if any(placer.rules.may_be_region(part) for part in parts):
        raise RegionError(
            f"{port}: a batch takes whole tensors, and one of these may be a region of another"
        )
    surfaces = [part for part in parts if part.info.strides is None]
    if len(surfaces) not in (0, len(parts)):
        raise LayoutError(f"{port}: a batch must consist of surfaces or of buffers, not of both")
    if not placer.rules.takes_remote_batches:
        assert placer.context is not None, "the items lie on it"
        raise UnsupportedObjectError(
            f"{port}: the {placer.context.device_name} plugin takes no batch of remote tensors: "
            f"{_ONE_TENSOR}"
        )
    for part in parts:
        check_remote(port, part, placer.rules)
    if not surfaces and not copy:
        reason = f"the GPU plugin merges {len(parts)} buffers into one: {_ONE_TENSOR}"
        raise needs_copy(port, parts[0], [reason])
    if surfaces:
        return Bound(None, None, "in place", batch=tuple(parts))
    merged = sum(part.info.nbytes for part in parts)
    return Bound(None, None, "copied", merged, batch=tuple(parts))


def _merge(placer: Placer, port: Port, parts: Sequence[Tensor], copy: bool) -> Bound:
    if not copy:
        reason = f"{len(parts)} tensors become one piece of memory: {_ONE_TENSOR}"
        edge = f"openvino -> {port}"
        raise CopyRequiredError(parts[0].memory_type, str(port), edge, [reason])
    check_surface(port, False, placer.rules)
    hosts = [in_host_memory(part, True)[0] for part in parts]
    dense = placer.dense(port, (len(parts), *parts[0].shape[1:]), parts[0])
    whole = dense.host_array()
    for index, host in enumerate(hosts):
        np.copyto(whole[index : index + 1], host.host_array())
    count_copy(f"openvino -> {port}", dense.info.nbytes)
    return Bound(dense, dense, "copied", batch=tuple(parts))
