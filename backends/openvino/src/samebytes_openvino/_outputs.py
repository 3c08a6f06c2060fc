# SPDX-License-Identifier: Apache-2.0
"""The outputs of a request as a frame, and the watch over memory that the next run may move."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from samebytes import Access, Context, Frame, FrameMeta, Tensor
from samebytes.errors import BusyError, LayoutError

from ._context import OPENVINO
from ._ports import find_port

if TYPE_CHECKING:
    from ._request import InferRequest

__all__ = ["Loans", "OutputFrame"]


class OutputFrame(Frame):
    """The outputs of an InferRequest, one tensor each, in the order of the model.

    Index it by number or by name, iterate it, or unpack it: `(scores,) = request.infer()`.

    `native` is the openvino.InferRequest. The planes are made, and a running inference waited
    for, when they are first asked for. They lie in the request's memory, or in what was bound to
    it: the next inference overwrites them.
    """

    __slots__ = ("_request",)

    _request: InferRequest

    def __init__(
        self,
        native: Any,
        context: Context,
        meta: FrameMeta,
        owner: Any,
        parent: Frame | None,
        readonly: bool,
    ) -> None:
        super().__init__(native, context, meta, owner, parent, readonly)
        if isinstance(parent, OutputFrame):  # an identity mapping of that frame
            self._request = parent._request

    @classmethod
    def of(cls, request: InferRequest, context: Context | None) -> OutputFrame:
        """The outputs of `request`, which lie in `context`; None for different memory."""
        native = request.native
        kind = cls if context is not None else _MixedOutputFrame
        frame = kind.borrowed(native, context or OPENVINO, FrameMeta(None))
        frame._request = request
        return frame

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
        if isinstance(key, str):
            key = find_port(self._request.output_ports, key).index
        return super().__getitem__(key)

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


class _MixedOutputFrame(OutputFrame):
    """Outputs of which some lie in the memory of a device, and some in that of the CPU."""

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

    OpenVINO moves such an output when a run needs more room, under whoever still looks at it.
    """

    __slots__ = ("_lent",)

    def __init__(self) -> None:
        self._lent: list[tuple[str, weakref.ref[Tensor], weakref.ref[Any]]] = []

    def add(self, name: str, tensor: Tensor) -> None:
        """Watch `tensor`, the output `name`."""
        self._lent.append((name, weakref.ref(tensor), weakref.ref(tensor.native)))

    def call_in(self) -> None:
        """Close the tensors.

        Raises:
            BusyError: an array, or another tensor, still lies over the memory of one.
        """
        for _, tensor_ref, _ in self._lent:
            tensor = tensor_ref()
            if tensor is not None:
                tensor.close()
                del tensor
        self._lent = [loan for loan in self._lent if loan[2]() is not None]
        if self._lent:
            names = ", ".join(repr(name) for name, _, _ in self._lent)
            raise BusyError(
                f"output {names} has a dynamic shape, and the next inference may move its memory: "
                "drop the arrays and tensors over it first, or copy them"
            )
