# SPDX-License-Identifier: Apache-2.0
"""The outputs of a request as a frame, and a watch over memory that the next inference may move."""

from __future__ import annotations

import weakref
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, SupportsIndex

from samebytes import Access, Context, Frame, FrameMeta, Tensor, metadata
from samebytes.errors import BusyError, LayoutError, UnknownNameError
from samebytes.metadata import AffineTransform

from .._host._tensor import OPENVINO
from ._ports import find_port

if TYPE_CHECKING:
    from ._inference import Inference
    from ._ports import Port

__all__ = ["WHOLE", "Loans", "OutputFrame", "outputs_of_item", "placed"]

WHOLE = AffineTransform()
"""The transform of a picture that fills the model's image."""


class Request(Protocol):
    """An InferRequest, as its outputs know it."""

    output_ports: tuple[Port, ...]
    _inference: Inference

    def wait(self) -> bool: ...
    def output_tensors(self) -> tuple[Tensor, ...]: ...
    def get_output_tensor(self, port: Any = 0) -> Tensor: ...


class OutputFrame(Frame):
    """The outputs of an InferRequest, one tensor each, in the order of the model.

    Index it by number or by name (`names` lists them), iterate it, or unpack it:
    `(scores,) = request.infer()`.

    `native` is the openvino.InferRequest. The planes are made, and a running inference waited
    for, when they are first asked for. They lie in the request's memory, or in what was bound to
    it: the next inference overwrites them.
    """

    __slots__ = ("_ports", "_request")

    _ports: tuple[Port, ...]
    _request: Request

    if not TYPE_CHECKING:  # it would hide every misspelt attribute from the type checker

        def __getattr__(self, name: str) -> Any:
            # Only an identity mapping has unset slots: its parent's are used.
            if name in OutputFrame.__slots__ and isinstance(self.parent, OutputFrame):
                return getattr(self.parent, name)
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @classmethod
    def of(cls, request: Request, context: Context | None) -> OutputFrame:
        """The outputs of `request`, which lie in `context`; None for different memory.

        Args:
            request: whose outputs they are.
            context: where all of them lie, or None.
        """
        inference = request._inference
        native = inference._native or inference.native
        kind = cls if context is not None else _MixedOutputFrame
        frame = kind(native, context or OPENVINO, native, None, False, FrameMeta(None))
        frame._request, frame._ports = request, request.output_ports
        return frame

    @property
    def transform(self) -> AffineTransform:
        """The transform from the image that the model saw to the picture, both normalised.

        It is the typed entry of that class, which models of images add where the picture is not
        stretched over their image: `image_model(fit=)`.
        """
        return metadata.find(self, AffineTransform) or WHOLE

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each output, or its number where the model gives it no name."""
        return tuple(port.name for port in self._ports)

    def wait(self) -> None:
        """Return when the inference is done."""
        self._request.wait()

    def __getitem__(self, key: SupportsIndex | str) -> Tensor:
        """The output of that number, -1 for the last one, or of that name.

        Raises:
            IndexError: the model has no output of that number.
            TypeError: neither a number nor a name.
            UnknownNameError: no output has that name; the message lists those near.
        """
        if type(key) is int and 0 <= key < len(self._ports):  # the most frequent case
            return self.planes[key]
        if isinstance(key, str):
            return super().__getitem__(find_port(self._request.output_ports, key).index)
        self._check_number(key)
        return super().__getitem__(key)

    def _check_number(self, number: Any) -> None:
        """Raise unless there is such an output; the base class says what is not a number."""
        count = len(self.names)
        if hasattr(number, "__index__") and not -count <= index(number) < count:
            raise IndexError(
                f"output {number} does not exist: the model has {count} ({', '.join(self.names)})"
            )

    def __repr__(self) -> str:
        # From the model alone: asking for the planes would wait for a running inference.
        pairs = zip(self.names, self._ports, strict=True)
        outputs = ", ".join(f"{name} {_layout(port)}" for name, port in pairs)
        mode = ", read-only" if self.readonly else ""
        return f"<OutputFrame {outputs} in {self.context.node}{mode}>"

    def _make_planes(self) -> tuple[Tensor, ...]:
        tensors, parent = self._request.output_tensors(), self.parent
        if parent is None:
            return tensors
        readonly = self.readonly
        return tuple(
            type(t).borrowed(
                t.native,
                t.context,
                keep=t.storage,
                readonly=readonly or t.readonly,
                info=t.known_info,
                parent=parent,
            )
            for t in tensors
        )


class _ItemOutputs(OutputFrame):
    """The outputs of one frame of a batch, under the names of the model that has no batch."""

    __slots__ = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the model that has no batch."""
        return tuple(port.name.partition("/")[2] for port in self._ports)

    def __getitem__(self, key: SupportsIndex | str) -> Tensor:
        if isinstance(key, str):
            names = self.names
            if key not in names:
                raise UnknownNameError("output", key, names)
            key = names.index(key)
        return super().__getitem__(key)

    def _make_planes(self) -> tuple[Tensor, ...]:
        return tuple(self._request.get_output_tensor(port.index) for port in self._ports)


def outputs_of_item(request: Request, number: int, count: int) -> OutputFrame:
    """The outputs of one frame of a batch.

    Args:
        request: of a model that `joined` made.
        number: of the frame.
        count: how many frames the batch has.
    """
    ports = request.output_ports
    each = len(ports) // count
    frame = _ItemOutputs.borrowed(request._inference.native, OPENVINO, FrameMeta(None))
    frame._request = request
    frame._ports = ports[number * each : (number + 1) * each]
    return frame


def placed(outputs: OutputFrame, transform: AffineTransform) -> OutputFrame:
    """Note on outputs where the picture lies in the model's image."""
    if transform is not WHOLE and transform != WHOLE:
        metadata.add(outputs, transform)
    return outputs


def _layout(port: Port) -> str:
    """Element type and shape: "float32[1, 3]", "float32[?, 4]"."""
    sizes = ["?" if size.is_dynamic else str(size) for size in port.native.partial_shape]
    return f"{port.element or 'string'}[{', '.join(sizes)}]"


class _MixedOutputFrame(OutputFrame):
    """Outputs that lie partly in the memory of a device, and partly in that of the CPU."""

    __slots__ = ()

    def map(
        self, target: Any = "cpu", access: Access = "r", *, copy: bool = False, queue: Any = None
    ) -> NoReturn:
        """Refuse: there is no one route for all planes.

        Raises:
            LayoutError: always.
        """
        raise LayoutError(
            "some outputs are in device memory and some in CPU memory: map the planes one by one"
        )


class Loans:
    """The tensors handed out over outputs of dynamic shape.

    OpenVINO moves such an output when an inference needs more room, even if it is still in use.

    Attributes:
        lent: the name of the output, the tensor and its native, of each.
    """

    __slots__ = ("lent",)

    def __init__(self) -> None:
        self.lent: list[tuple[str, weakref.ref[Tensor], weakref.ref[Any]]] = []

    def add(self, name: str, tensor: Tensor) -> None:
        """Watch `tensor`, the output `name`."""
        self.lent.append((name, weakref.ref(tensor), weakref.ref(tensor.native)))

    def call_in(self) -> None:
        """Close the tensors.

        Raises:
            BusyError: an array, or another tensor, still lies over the memory of one.
        """
        for _, tensor_ref, _ in self.lent:
            tensor = tensor_ref()
            if tensor is not None:
                tensor.close()
                del tensor
        self.lent = [loan for loan in self.lent if loan[2]() is not None]
        if self.lent:
            names = ", ".join(repr(name) for name, _, _ in self.lent)
            raise BusyError(
                f"output {names} has a dynamic shape, and the next inference may move its memory: "
                "drop the arrays and tensors over it first, or copy them"
            )
