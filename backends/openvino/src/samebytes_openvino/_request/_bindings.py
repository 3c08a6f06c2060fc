# SPDX-License-Identifier: Apache-2.0
"""The memory that the ports of a request read and write. OpenVINO holds none of it; we do.

A tensor is wrapped and placed (`_placing`), given to OpenVINO, and held.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import openvino

from samebytes import Context, Frame, Tensor
from samebytes.errors import LayoutError
from samebytes.plugins import count_copy, data_address

from .._errors import REPORTING_BUSY, check_busy, last_line
from .._host._layout import element_type
from .._host._tensor import OPENVINO, OpenVINOTensor
from .._remote._context import RemoteContext, RemoteTensor, native_in
from .._remote._lifetimes import Leftovers, pin
from ._binding import Bound, HostPlacement, InPlace, PlacementRules, check_batch
from ._compiled import CompiledModel, context_of
from ._placing import Placer, dense_input, place_batch
from ._ports import Port

if TYPE_CHECKING:
    from ._report import Binding

__all__ = ["Bindings", "bindings_of"]


class Bindings:
    """The tensors that were set on one openvino.InferRequest.

    A tensor is used where it lies if the plugin can do that, else mapped to the context that the
    model was compiled on if that takes no copy, else copied if the user allowed it.

    Args:
        native: the request; None after it was closed.
        context: of the model, on a GPU or NPU; None for the CPU plugin, and for plugins that are
            not known here.
        rules: what the plugin does with ordinary tensors.

    Attributes:
        bound: what was set, by port.
        has_outputs: an output was bound, to memory that may have to be published.
        must_run_async: an output is bound to memory that OpenVINO's infer() cannot return.
        on_device: the model was compiled on a context.
        takes_dense: the plugin uses every dense input where it lies, as the CPU's does.
    """

    __slots__ = (
        "_context",
        "_leftovers",
        "_native",
        "_placer",
        "_released",
        "_rules",
        "_runs_alone",
        "bound",
        "has_outputs",
        "must_run_async",
        "on_device",
        "takes_dense",
    )  # fmt: skip

    def __init__(self, native: Any, context: RemoteContext | None, rules: PlacementRules) -> None:
        self._native = native
        self._context = context
        self._rules = rules
        self._placer = Placer(context, rules)
        self.bound: dict[Port, Bound] = {}
        self.on_device = context is not None
        self.takes_dense = context is None and rules.own == "in place"
        self.has_outputs = self.must_run_async = False
        self._leftovers: Leftovers | None = None
        # Nobody has the native request, and could run it directly.
        self._runs_alone = True
        # Memory that nobody fills, for inputs whose tensors were released.
        self._released: dict[Port, Any] = {}

    def bind(self, port: Port, value: Any, copy: bool, copied: bool = False) -> None:
        """Give `value` to OpenVINO, and hold it. `InferRequest.set_tensor` lists the errors.

        Args:
            copied: `value` is a copy already, of what the user gave.
        """
        if self.takes_dense and port.dense and not copied:
            found = dense_input(port, value)
            if found is not None:
                native, held = found
                try:
                    self._native.set_input_tensor(port.index, native)
                except RuntimeError:
                    pass  # the way below meets the same error, and explains it
                else:
                    self.bound[port] = InPlace(native, held)
                    return
        source = value if isinstance(value, Tensor) else self._placer.wrap(port, value)
        bound = self._placer.place(port, source, copy)
        if source is not value and isinstance(value, openvino.RemoteTensor):
            assert bound.tensor is not None
            if self._rules.may_be_region(bound.tensor):
                bound.placement = "unknown"
        if copied:
            bound.placement = "copied"
        assert bound.given is not None
        self._give(port, bound.given)
        if bound.pin is not None:
            # The plugin's import ends before the memory does.
            pin(bound.pin, bound.given.storage)
        self._hold(port, bound)

    def bind_host_inputs(self, ports: Sequence[Port], natives: Sequence[Any], holds: Any) -> bool:
        """Give tensors of the ports' own layouts to OpenVINO, in memory of the CPU.

        Args:
            natives: an openvino.Tensor for each port.
            holds: what they lie in.

        Returns:
            False if the plugin refuses one: `bind` then says why. Only for `takes_dense`.
        """
        try:
            for port, native in zip(ports, natives, strict=True):
                self._native.set_input_tensor(port.index, native)
                self.bound[port] = InPlace(native, holds)
        except RuntimeError:
            return False
        return True

    def bind_batch(self, port: Port, values: Sequence[Any], copy: bool) -> None:
        """Give OpenVINO one tensor for each item of a batch, and hold them.

        `InferRequest.set_tensors` lists the errors.
        """
        parts = [v if isinstance(v, Tensor) else self._placer.wrap(port, v) for v in values]
        check_batch(port, parts)
        if len(parts) == 1:
            self.bind(port, parts[0], copy)
            return
        bound = place_batch(self._placer, port, parts, copy)
        if bound.given is None:
            self._give_batch(port, bound.batch)
        else:
            self._give(port, bound.given)
        self._hold(port, bound)

    def planes_of(self, frame: Frame, copy: bool) -> tuple[tuple[Tensor, ...], bool]:
        """The planes of a frame in memory that can be bound, and whether that took a copy."""
        return self._placer.planes_of(frame, copy)

    def tensor_of(self, port: Port) -> Tensor:
        """The tensor that was set, or else one over the request's own memory."""
        bound = self.bound.get(port)
        if bound is not None and bound.tensor is not None:
            where = bound.tensor.context
            target = where if isinstance(where, RemoteContext) else OPENVINO
            return bound.tensor.map(target, "rw" if port.kind == "output" else "r")
        if bound is not None:
            raise LayoutError(
                f"{port} was set as a batch of tensors: there is no single one to return"
            )
        if port.element is None:
            raise LayoutError(
                f"{port} holds strings, which cannot be shared: read "
                f"request.native.get_tensor({port.name!r}).str_data, which copies"
            )
        try:
            # OpenVINO shares the ownership of memory that it allocated with this object.
            native = self._native.get_tensor(port.native)
        except RuntimeError as error:
            check_busy(error)
            raise LayoutError(
                f"{port} has no memory of its own, as an input of GPU_SURFACE memory: set a tensor"
            ) from error
        return OpenVINOTensor(native, OPENVINO, self._native, None, False)

    def output_context(self, ports: Sequence[Port]) -> Context | None:
        """The context of all outputs on a device, or None if they lie in different contexts."""
        there = [self._is_remote(self.bound.get(port)) for port in ports]
        if all(there):
            return self._context
        return None if any(there) else OPENVINO

    def report(self, port: Port) -> Binding:
        """The binding of the port."""
        from ._report import Binding  # programs seldom ask for it

        bound = self.bound.get(port)
        if bound is None:
            placement = "copied" if self._placer.converts(port) else self._rules.own
            return Binding(port.kind, port.name, None, placement)
        placement = bound.placement
        if self._context is None and placement == "in place" and not self._is_there(port, bound):
            placement = "unknown"
        return Binding(port.kind, port.name, bound.tensor, placement, bound.batch)

    def starting(self) -> Sequence[Bound]:
        """The bindings that an inference on a device is about to use, to be passed to `started`.

        Tensors that were replaced since the last inference count as used again: the plugin may
        or may not still have them.
        """
        self._leftovers = None
        used = list(self.bound.values())
        for bound in used:
            bound.ran = False
        return used

    def started(self, used: Sequence[Bound]) -> None:
        """Note that the inference runs, or has run, and count what the plugin copies in it.

        Args:
            used: as `starting` returned it.
        """
        for bound in used:
            bound.ran = True
        for port, bound in self.bound.items():
            if bound.plugin_copies:
                count_copy(f"openvino -> {port}", bound.plugin_copies)

    def release_inputs(self) -> None:
        """Let go of what was set on the inputs. OpenVINO cannot: it gets unused memory instead."""
        for port in [port for port in self.bound if port.kind == "input"]:
            unused = self._released.get(port)
            if unused is None:
                unused = self._released[port] = self._unused(port)
            try:
                self._native.set_input_tensor(port.index, unused)
            except RuntimeError as error:
                check_busy(error)
                raise
            before = self.bound.pop(port)
            if before.ran:
                self._replaced(before)

    def _unused(self, port: Port) -> Any:
        """Memory that takes the place of what is bound to a port."""
        bound = self.bound[port]
        shape = port.shape
        if shape is None:
            found = bound.batch[0] if bound.tensor is None else bound.tensor
            shape = found.shape
        make: Any = openvino.Tensor
        if self._context is not None and self._context.device_name.startswith("NPU"):
            # The NPU plugin would import any other memory, and imports no page twice.
            make = self._context.native.create_host_tensor
        return make(port.type, openvino.Shape(shape))

    def lend_native(self) -> None:
        """Note that somebody has the native request from now on, and may run it unnoticed."""
        self._runs_alone = False
        self._leftovers = None

    def let_go(self) -> None:
        """Drop the request before what was set on it, which OpenVINO may still use until then.

        Outputs in the request's own memory hold the request. So it gets unused memory in place of
        what was set on it.
        """
        request, self._native = self._native, None
        if request is None:
            return
        for port, bound in self.bound.items():
            if isinstance(bound, InPlace):
                native = bound.native
            else:
                native = None if bound.given is None else native_in(bound.given)
            if isinstance(native, openvino.Tensor):
                # It may be running in a callback, or its model may be closed: it goes by itself.
                with contextlib.suppress(RuntimeError):
                    unused = openvino.Tensor(native.element_type, native.shape)
                    if port.kind == "input":
                        request.set_input_tensor(port.index, unused)
                    else:
                        request.set_output_tensor(port.index, unused)

    def flush_outputs(self) -> None:
        """Publish what an inference wrote to memory of other frameworks."""
        for port, bound in self.bound.items():
            if port.kind == "output" and bound.given is not None:
                bound.given.flush()

    def _give(self, port: Port, given: Tensor) -> None:
        """OpenVINO's set_tensor(): by index, or by name for a remote tensor, which it wants."""
        native, request = native_in(given), self._native
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
            raise LayoutError(f"{port} does not accept this tensor: {_why(error)}") from error

    def _hold(self, port: Port, bound: Bound) -> None:
        before = self.bound.get(port)
        self.bound[port] = bound
        if before is not None:
            self._replaced(before)
        if port.kind == "output":
            self.has_outputs = True
            self.must_run_async = any(
                p.kind == "output" and self._is_remote(b) for p, b in self.bound.items()
            )

    def _replaced(self, before: Bound) -> None:
        """Note a binding that was replaced after an inference had used it."""
        if not before.ran or before.plugin_copies:
            return  # the plugin has a copy, and not the memory
        if self._runs_alone and isinstance(before.given, RemoteTensor):
            if self._leftovers is None:
                self._leftovers = Leftovers()
            before.given._replaced(self._leftovers)

    def _give_batch(self, port: Port, parts: Sequence[Tensor]) -> None:
        """OpenVINO's set_tensors(), which takes remote tensors alone."""
        natives = [_carry(part) for part in parts]
        try:
            with REPORTING_BUSY:
                self._native.set_tensors(port.native, natives)
        except RuntimeError as error:
            raise LayoutError(f"{port} does not accept this batch: {last_line(error)}") from error

    def _is_remote(self, bound: Bound | None) -> bool:
        if self._context is None or bound is None or bound.tensor is None:
            return False
        return bound.tensor.context is self._context

    def _is_there(self, port: Port, bound: Bound) -> bool:
        """True if OpenVINO's tensor has the same address as the one that was set."""
        if port.element is None or bound.tensor is None:
            return False
        with REPORTING_BUSY:
            there = data_address(self._native.get_tensor(port.native).data)
        return bool(there == bound.tensor.handle("data"))


def _carry(tensor: Tensor) -> Any:
    """A remote tensor as an openvino.Tensor, which OpenVINO takes by port and in batches."""
    # Not at the top: it makes a model, and is seldom needed.
    from .._remote._conversions import as_tensor

    return as_tensor(native_in(tensor), element_type(tensor.dtype), len(tensor.shape))


def _why(error: RuntimeError) -> str:
    """The plugin's objection to a tensor, from its message of several lines."""
    if "non-contiguous" in str(error):
        return "it is a region that leaves gaps, which this driver cannot read or write in place"
    return last_line(error)


def bindings_of(native: Any, compiled: Any, known: CompiledModel | None) -> Bindings:
    """The bindings of a new request, by the rules of the device that its model was compiled for.

    Args:
        native: the openvino.InferRequest.
        compiled: its openvino.CompiledModel.
        known: the same, if it knows its context.
    """
    if set(compiled.get_property("EXECUTION_DEVICES")) == {"CPU"}:
        return Bindings(native, None, HostPlacement("in place"))
    context = known.context if known else context_of(compiled)
    if context is None:
        return Bindings(native, None, HostPlacement("unknown"))
    # Not at the top: programs for the CPU need none of it.
    from .._remote._placement_rules import placement_rules

    return Bindings(native, context, placement_rules(context, compiled))
