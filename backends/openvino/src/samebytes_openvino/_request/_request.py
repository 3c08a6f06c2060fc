# SPDX-License-Identifier: Apache-2.0
"""InferRequest: an inference request that keeps what it was given alive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from samebytes import Frame, Storage, Tensor
from samebytes.errors import BusyError, LayoutError, UnsupportedObjectError

from .._host._tensor import OPENVINO
from ._binding import HostPlacement
from ._bindings import Bindings, bindings_of
from ._callbacks import CALLBACKS
from ._compiled import new_request
from ._inference import Inference
from ._outputs import Loans, OutputFrame
from ._placing import with_padding
from ._ports import Port, find_named_port, find_port, ports_by_name, ports_of, tensors_by_port

if TYPE_CHECKING:
    from typing import Self

    from ._report import Binding

__all__ = ["InferRequest"]


class InferRequest(Storage.Uncopied):
    """An openvino.InferRequest that takes tensors of any memory type, and holds them.

    OpenVINO's own request keeps no tensor alive: when the tensor that was set is dropped, the
    next inference reads freed memory. This one holds what was set until it is replaced.

    Inputs must be dense, or be copied. The CPU plugin itself copies an input with padded rows, to
    where the input of the previous inference lay, even if that was the user's own memory
    (Graph::PushInputData in the plugin's sources); the GPU plugin reads it as if it were dense. So
    padded inputs need copy=True; the copy is then made, and counted, here, when the tensor is set.

    On a GPU or NPU tensors are mapped to the context that the model was compiled on, wherever
    that takes no copy. What the plugin would copy silently needs copy=True too: ordinary
    memory on a GPU; on an NPU outputs in memory that is not whole pages, and inputs which share a
    page with others that the NPU holds. `bindings()` reports how each tensor is used. State
    variables lie in memory of the plugin's own.

    A model on a shared queue runs in the user's own queue: `start_async()` returns when all of it
    is in the queue, and work that is enqueued behind a barrier (or simply later, if the queue is in
    order) sees its outputs without a `wait()`. If such a start fails, the model is closed: OpenVINO
    would wait forever at the next one.

    One request is used by one thread at a time. Dropping it waits for a running inference.

    Args:
        model: what `compile_model` returned, or an openvino.CompiledModel, which is assumed to be
            compiled by the name of its device, since OpenVINO does not report its context: a new
            request is made. Or an idle openvino.InferRequest of either: what was set on it before
            is not held.

    Attributes:
        input_ports, output_ports: name, index, element and shape of each, in the model's order.

    Raises:
        UnsupportedObjectError: `model` is neither.
    """

    _instead = "make another one of the same model"

    def __init__(self, model: Any) -> None:
        self._inference = Inference(None)
        native, known = new_request(model)
        compiled = known or native.get_compiled_model()
        self.input_ports: tuple[Port, ...] = ports_of("input", compiled.inputs)
        self.output_ports: tuple[Port, ...] = ports_of("output", compiled.outputs)
        self._by_name = ports_by_name(self.input_ports + self.output_ports)
        self._has_strings = any(port.element is None for port in self.output_ports)
        self._bindings = bindings_of(native, compiled, known)
        self._loans = Loans()
        self._inference = Inference(
            native, known.submissions if known else None, self._bindings.flush_outputs
        )

    @property
    def native(self) -> Any:
        """The openvino.InferRequest. It does not hold what is set on it directly.

        Its holder may run it unnoticed. So from then on, a tensor of a GPU that is replaced on this
        request counts as used until the next inference has started.

        Raises:
            ClosedError: the request was closed.
        """
        self._bindings.lend_native()
        return self._inference.native

    def set_tensor(self, port: Any, tensor: Any, *, copy: bool = False) -> None:
        """Bind a tensor to an input or output.

        Args:
            port: a name, or a port object of the model.
            tensor: a Tensor of any memory type, an openvino.Tensor, an openvino.RemoteTensor, or
                an array. Inputs are mapped with access "r", outputs with "w".
            copy: allow a copy if it cannot be used in place. An input is copied now: later writes
                to the tensor are not seen. Outputs on a GPU or NPU, and element types that a GPU
                lacks, are copied by the plugin at each inference.

        Raises:
            UnknownNameError: no such port.
            LayoutError: dtype or shape are not those of the port, or an output is not dense, or in
                memory of a GPU that lacks its element type.
            AccessError: an output is read-only.
            CopyRequiredError: it cannot be used in place.
            NoRouteError: the tensor cannot be mapped to OpenVINO.
            DeviceMismatchError: it is of another context than the model's.
            BusyError: an inference is running.
            ClosedError: this request, or its model, was closed.
        """
        self._bind(self._named_port(port, "set"), tensor, copy)

    def set_input_tensor(self, port: Any, tensor: Any, *, copy: bool = False) -> None:
        """Bind a tensor to an input: as `set_tensor`, and `port` may be an index.

        Args:
            port: the name of the input or output, or its index.
            tensor: of samebytes, of OpenVINO, or an array.
            copy: copy what the device cannot use in place; it is counted in `samebytes.stats()`.
        """
        self._bind(find_port(self.input_ports, port), tensor, copy)

    def set_output_tensor(self, port: Any, tensor: Any, *, copy: bool = False) -> None:
        """Bind a tensor to an output: as `set_tensor`, and `port` may be an index.

        Args:
            port: the name of the input or output, or its index.
            tensor: of samebytes, of OpenVINO, or an array.
            copy: copy what the device cannot use in place; it is counted in `samebytes.stats()`.
        """
        self._bind(find_port(self.output_ports, port), tensor, copy)

    def set_tensors(self, port: Any, tensors: Sequence[Any], *, copy: bool = False) -> None:
        """Bind a batch to an input, one tensor for each item.

        Images and video surfaces on a GPU are used in place. Buffers are merged by the GPU
        plugin at each inference, and memory of the CPU is merged here, now: both are copies.

        Args:
            port: a name, or a port object of the model.
            tensors: as many as the batch has items, each with a first dimension of 1; all of
                them surfaces, or all buffers of the device, or all in memory of the CPU.
            copy: allow the merging.

        Raises:
            LayoutError: their number, dtype, shape or kind does not fit, or `port` is an output.
            CopyRequiredError: they must be merged.
            And the errors of `set_tensor`.
        """
        self._bind_batch(self._named_port(port, "set"), tensors, copy)

    def set_input_tensors(self, port: Any, tensors: Sequence[Any], *, copy: bool = False) -> None:
        """Bind a batch to an input: as `set_tensors`, and `port` may be an index.

        Args:
            port: the name of the input or output, or its index.
            tensors: one for each part of the batch.
            copy: copy what the device cannot use in place; it is counted in `samebytes.stats()`.
        """
        self._bind_batch(find_port(self.input_ports, port), tensors, copy)

    def set_frame(
        self, frame: Frame, inputs: Sequence[Any] | None = None, *, copy: bool = False
    ) -> None:
        """Bind the planes of a frame to inputs, in order.

        Args:
            frame: of any memory type; image planes become [1, rows, columns, channels]. A plane
                with padded rows is given whole to an input that is as wide as its row pitch.
            inputs: the ports, one for each plane; by default all inputs of the model.
            copy: as in `set_tensor`.

        Raises:
            LayoutError: the numbers of planes and inputs differ.
        """
        ports: Sequence[Port] = self.input_ports
        if inputs is not None:
            ports = [find_port(self.input_ports, key) for key in inputs]
        self._check_idle()
        planes, copied = self._bindings.planes_of(frame, copy)
        if len(planes) != len(ports):
            raise LayoutError(
                f"the frame has {len(planes)} planes for {len(ports)} inputs "
                f"({', '.join(p.name for p in ports)}): name the inputs, one for each plane"
            )
        for port, plane in zip(ports, planes, strict=True):
            self._bind(port, with_padding(port, plane), copy, copied)

    def release_inputs(self) -> None:
        """Let go of what was set on the inputs, once an inference has read it.

        Until then the request holds it, and nobody can write to a frame that is mapped for reading.
        Outputs stay as they are. An input that is not set again has undefined contents.

        Raises:
            BusyError: an inference is running.
            ClosedError: the request was closed.
            RuntimeError: OpenVINO's, if the last inference failed and nobody waited for it.
        """
        if not self._inference.is_ready:
            self._check_idle()
        if self._bindings.bound:
            self._bindings.release_inputs()

    def _set_host_inputs(self, first: int, natives: Sequence[Any], holds: Any) -> bool:
        """Bind tensors of the layouts of some inputs, if they can be used where they lie.

        For image models, which know the layouts.

        Args:
            first: the index of the input for the first one.
            natives: an openvino.Tensor in memory of the CPU for each.
            holds: what they lie in.
        """
        if not self._inference.is_ready:
            self._check_idle()
        ports = self.input_ports[first : first + len(natives)]
        return self._bindings.bind_host_inputs(ports, natives, holds)

    def get_tensor(self, port: Any) -> Tensor:
        """The tensor of an input or output: what was set, or else the request's own memory.

        The request's own memory can be written (inputs) and is overwritten by the next inference
        (outputs). It lives as long as the tensor. Waits for a running inference.

        Args:
            port: the name of the input or output, or its index.

        Raises:
            UnknownNameError: no such port.
            LayoutError: it holds strings.
            BusyError: another thread is inside infer().
        """
        return self._tensor_of(self._named_port(port, "get"))

    def get_input_tensor(self, port: Any = 0) -> Tensor:
        """The tensor of an input: as `get_tensor`, and `port` may be an index.

        Args:
            port: the name of the input or output, or its index.
        """
        return self._tensor_of(find_port(self.input_ports, port))

    def get_output_tensor(self, port: Any = 0) -> Tensor:
        """The tensor of an output: as `get_tensor`, and `port` may be an index.

        Args:
            port: the name of the input or output, or its index.
        """
        return self._tensor_of(find_port(self.output_ports, port))

    def infer(self, inputs: Any = None, *, copy: bool = False) -> OutputFrame:
        """Run, and return the outputs.

        Args:
            inputs: what to bind before: a Frame, a mapping of ports (names, indices) to tensors,
                a sequence of tensors, or one tensor. What was bound before stays bound.
            copy: as in `set_tensor`.

        Returns:
            The outputs, in the request's own memory or in what was set. The next inference
            overwrites them; tensors over outputs of dynamic shape are closed by it.

        Raises:
            BusyError: an inference is running; or an array still lies over an output of dynamic
                shape, whose memory may move.
            RuntimeError: OpenVINO's, if the inference fails.
        """
        if CALLBACKS.depth:
            raise BusyError(
                "infer() inside a callback could wait for the thread that runs this callback: use "
                "start_async()"
            )
        if inputs is not None or not self._inference.is_ready:
            self._prepare(inputs, copy)
        if self._loans.lent:
            self._loans.call_in()
        # Held here too: a close() in another thread drops them while this one runs.
        bindings = self._bindings
        used = bindings.starting() if bindings.on_device else ()
        if self._has_strings or bindings.must_run_async:
            # OpenVINO's infer() would decode and copy strings, and cannot return remote tensors.
            self._inference.start()
            self._inference.wait(None)
        else:
            self._inference.run()
            if bindings.has_outputs:
                bindings.flush_outputs()
        if used:
            bindings.started(used)
        return self.outputs()

    def start_async(self, inputs: Any = None, *, copy: bool = False) -> None:
        """Start an inference and return. Arguments and errors are those of `infer`.

        On a shared queue the whole inference was enqueued when this returns.

        Args:
            inputs: as for `infer`.
            copy: copy what the device cannot use in place; it is counted in `samebytes.stats()`.
        """
        self._prepare(inputs, copy)
        self._loans.call_in()
        bindings = self._bindings
        used = bindings.starting() if bindings.on_device else ()
        self._inference.start()
        if used:
            bindings.started(used)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for a running inference.

        Args:
            timeout: seconds; None or infinity waits for as long as it takes.

        Returns:
            Whether no inference is running any more.

        Raises:
            ValueError: the timeout is negative or not a number.
            RuntimeError: OpenVINO's, if the inference failed.
        """
        return self._inference.wait(timeout)

    def set_callback(self, callback: Callable[[Any], object] | None, userdata: Any = None) -> None:
        """Let a function be called at the end of each inference that `start_async()` starts.

        It is called as `callback(userdata)` in a thread of OpenVINO's when the inference has
        succeeded; if it failed, `wait()` raises the error. In the callback, outputs can be read,
        inputs and outputs can be set, and `start_async()` starts the next inference. A wait there
        would be for the callback itself, so wait() and infer() raise BusyError. One callback of a
        request runs at a time, and wait() in other threads returns when it has returned.

        An error that the callback raises goes to `sys.unraisablehook`, and the request stays
        usable.
        Until the callback has returned, the request and what was set on it stay alive, even if
        everybody else drops them.

        Args:
            callback: the function, or None for no more calls. It takes the place of one that was
                set on `native`.
            userdata: what it is called with.

        Raises:
            BusyError: an inference is running.
            ClosedError: the request was closed.
            UnsupportedObjectError: it is not callable. A TypeError.
        """
        if callback is not None and not callable(callback):
            raise UnsupportedObjectError(f"a callback must be callable, not {callback!r}")
        self._check_idle()
        self._inference.call(callback, userdata)

    def on_end(self, function: Callable[[], None]) -> None:
        """Let a function be called at the end of each inference, after the callback.

        For `InferQueue`. It stays when the callback changes.

        Args:
            function: takes no arguments.
        """
        self._inference.arm()
        self._inference.after = function

    @property
    def idle(self) -> bool:
        """True if no inference is running or awaits its callback; a callback may be running."""
        return self._inference.closed or self._inference.is_idle()

    @property
    def failed(self) -> bool:
        """True if the last inference failed and wait() has not raised its error yet.

        It is always False for a request without a callback.
        """
        return self._inference.has_failed()

    @property
    def outstanding(self) -> bool:
        """True if an inference was started that has neither called back nor been waited for."""
        return self._inference.outstanding

    @property
    def pending(self) -> bool:
        """True if an inference is outstanding, or its callback is running."""
        return self._inference.pending

    def cancel(self) -> None:
        """Stop a running inference, and return when it has stopped. Outputs are undefined then.

        Raises:
            NativeError: the plugin cannot, as the NPU's. Then the inference runs on: wait() for its
                end, or close() the request, which waits too. A RuntimeError.
        """
        self._inference.cancel()

    def outputs(self) -> OutputFrame:
        """The outputs as a frame; the first look at its tensors waits for a running inference."""
        bindings = self._bindings
        context = bindings.output_context(self.output_ports) if bindings.on_device else OPENVINO
        return OutputFrame.of(self, context)

    def output_tensors(self) -> tuple[Tensor, ...]:
        """One tensor for each output. Waits for a running inference.

        Raises:
            LayoutError: an output holds strings.
        """
        if not self._inference.is_ready:
            self._await_results()
        tensors = []
        for port in self.output_ports:
            tensor = self._bindings.tensor_of(port)
            if port.shape is None:
                self._loans.add(port.name, tensor)
            tensors.append(tensor)
        return tuple(tensors)

    def bindings(self) -> tuple[Binding, ...]:
        """The binding of each port: what it reads or writes, and whether in place."""
        self._check_idle()
        return tuple(self._bindings.report(port) for port in self.input_ports + self.output_ports)

    def close(self) -> None:
        """Wait for a running inference, and release everything that was set."""
        self._inference.close()
        self._bindings.let_go()
        self._bindings = Bindings(None, None, HostPlacement("unknown"))

    def __enter__(self) -> Self:
        self._inference.native  # a closed request cannot be entered  # noqa: B018
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._inference.release()
        if hasattr(self, "_bindings"):  # its constructor was not left before by an error
            self._bindings.let_go()

    def __repr__(self) -> str:
        if self._inference.closed:
            return "<InferRequest closed>"
        inputs = ", ".join(port.name for port in self.input_ports)
        outputs = ", ".join(port.name for port in self.output_ports)
        running = ", running" if self._inference.running else ""
        return f"<InferRequest {inputs} -> {outputs}{running}>"

    def _named_port(self, key: Any, verb: str) -> Port:
        found = self._by_name.get(key) if type(key) is str else None
        return found or find_named_port(self.input_ports + self.output_ports, key, verb)

    def _bind(self, port: Port, tensor: Any, copy: bool, copied: bool = False) -> None:
        if not self._inference.is_ready:  # asked here too: most requests are, and a call costs
            self._check_idle()
        self._bindings.bind(port, tensor, copy, copied)

    def _bind_batch(self, port: Port, tensors: Sequence[Any], copy: bool) -> None:
        self._check_idle()
        self._bindings.bind_batch(port, tensors, copy)

    def _tensor_of(self, port: Port) -> Tensor:
        if not self._inference.is_ready:
            self._await_results()
        tensor = self._bindings.tensor_of(port)
        if port.kind == "output" and port.shape is None:
            self._loans.add(port.name, tensor)
        return tensor

    def _await_results(self) -> None:
        self._inference.native  # noqa: B018 - a closed request has none
        self.wait()

    def _prepare(self, inputs: Any, copy: bool) -> None:
        self._check_idle()
        if isinstance(inputs, Frame):
            self.set_frame(inputs, copy=copy)
        elif inputs is not None:
            for key, tensor in tensors_by_port(self.input_ports, inputs):
                self.set_input_tensor(key, tensor, copy=copy)

    def _check_idle(self) -> None:
        if self._inference.is_ready:
            return
        self._inference.native  # noqa: B018 - a closed request has none
        if self._inference.is_idle():
            # Raises what the last inference failed with.
            self._inference.wait(0)
        else:
            raise BusyError("an inference is running: wait() for it, or use another InferRequest")
