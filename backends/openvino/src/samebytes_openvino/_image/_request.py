# SPDX-License-Identifier: Apache-2.0
"""An inference request of an image model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from samebytes import Frame, Tensor
from samebytes.errors import (
    BusyError,
    ClosedError,
    CopyRequiredError,
    RouteError,
    UnsupportedObjectError,
)

from .._binding import Binding
from .._outputs import OutputFrame
from .._request import InferRequest

if TYPE_CHECKING:
    from typing import Self

    from ._plan import Plan
    from ._seen import Seen

__all__ = ["ImageRequest", "Resize", "bind"]

Array = np.ndarray[Any, Any]
Resize = Callable[[Array, Array], object]

_WAY_OUT = (
    "copy=True copies what cannot be used in place, and counts it; resize= (see image_model) reads "
    "the planes where they lie, on every device; frames of "
    'samebytes.context("cpu").allocate_frame() are taken in place by all'
)


class ImageRequest:
    """One inference of an ImageModel at a time; several of them run side by side.

    Made by `ImageModel.create_infer_request()`. It holds the frame that was set until the next one
    is set, or until it is closed or dropped; with `resize=` the frame is read when it is set, and
    not held. One request is used by one thread at a time.
    """

    def __init__(self, look: Callable[[Frame, bool], tuple[Plan, Seen]], resize: Resize | None):
        self._look = look
        self._resize = resize
        self._plan: Plan | None = None
        self._request: InferRequest | None = None
        self._spare: dict[str, Tensor] = {}
        self._targets: list[Array] = []
        self._closed = False

    @property
    def request(self) -> InferRequest:
        """The InferRequest underneath, of the layout of the frame that was set last.

        Raises:
            BusyError: no frame was set yet.
            ClosedError: this request was closed.
        """
        if self._closed:
            raise ClosedError("this image request was closed")
        if self._request is None:
            raise BusyError("no frame has been set: call set_frame() or infer(frame) first")
        return self._request

    def set_frame(self, frame: Frame, *, copy: bool = False) -> None:
        """Bind a frame: its planes in place, or resized into the model's own tensors.

        A frame of another layout than the one before (another size, format or row pitch) gets a
        model of its own, which is compiled when that layout is first seen.

        Args:
            frame: of any memory type that can be mapped to the device or to the CPU.
            copy: allow a copy where the device cannot use the planes in place. It is counted.

        Raises:
            CopyRequiredError: a copy is needed, and `copy` is False; the message says why.
            NoRouteError: the frame can be mapped neither to the device nor to the CPU.
            UnknownNameError: a pixel format that is not supported; the message lists those near.
            LayoutError: it is not an image; or `resize` cannot resize such planes.
            BusyError: an inference is running.
            ClosedError: this request was closed.
        """
        if self._closed:
            raise ClosedError("this image request was closed")
        if not isinstance(frame, Frame):
            raise UnsupportedObjectError(
                f"a {type(frame).__name__} is not a samebytes.Frame: wrap it, samebytes.frame(...)"
            )
        if self._request is not None and not self._request.wait(0):
            raise BusyError("an inference is running: wait() for it, or use another request")
        plan, seen = self._look(frame, copy)
        request, spare = self._request, self._spare
        # Without a request while it is bound: one with half of this frame must not run.
        before, self._plan, self._request = self._plan, None, None
        if request is None or plan is not before:
            request = InferRequest(plan.compiled)
            spare = self._spare = {}
            if self._resize is not None:
                self._targets = _targets(request, plan)
            elif _is_npu(plan):
                spare = self._spare = _own_inputs(request, plan)
        if self._resize is not None:
            for plane, target in zip(seen.frame.planes, self._targets, strict=True):
                self._resize(plane.native, target)
        else:
            _bind_or_let_go(request, plan, seen, spare, copy)
        self._plan, self._request = plan, request

    def infer(self, frame: Frame | None = None, *, copy: bool = False) -> OutputFrame:
        """Set a frame, unless it is left out, run, and return the outputs.

        Returns:
            The outputs in the request's own memory: the next inference overwrites them.

        Raises:
            The errors of `set_frame` and of `InferRequest.infer`.
        """
        if frame is not None:
            self.set_frame(frame, copy=copy)
        return self.request.infer()

    def start_async(self, frame: Frame | None = None, *, copy: bool = False) -> None:
        """Start an inference and return; `wait()` and `outputs()` follow. As `infer` else."""
        if frame is not None:
            self.set_frame(frame, copy=copy)
        self.request.start_async()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for a running inference: `InferRequest.wait`."""
        return self.request.wait(timeout)

    def outputs(self) -> OutputFrame:
        """The outputs of the last inference. The first look at them waits for a running one."""
        return self.request.outputs()

    def bindings(self) -> tuple[Binding, ...]:
        """What each input and output reads or writes, and whether in place."""
        return self.request.bindings()

    def close(self) -> None:
        """Wait for a running inference, and release the frame."""
        self._closed = True
        if self._request is not None:
            self._request.close()
        self._request = self._plan = None
        self._spare, self._targets = {}, []

    def __enter__(self) -> Self:
        if self._closed:
            raise ClosedError("this image request was closed")
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def bind(request: InferRequest, plan: Plan, seen: Seen, copy: bool) -> None:
    """Give the planes of a frame to a request. Errors are those of `ImageRequest.set_frame`."""
    tensors = _on_the_npu(plan, seen) or seen.tensors()
    if tensors is None:
        request.set_frame(seen.frame, plan.names, copy=copy)
        return
    for index, tensor in enumerate(tensors):  # the inputs are in the order of the planes
        request.set_input_tensor(index, tensor, copy=copy)


def _bind_or_let_go(
    request: InferRequest, plan: Plan, seen: Seen, spare: Mapping[str, Tensor], copy: bool
) -> None:
    """`bind`, and where the frame that the request holds is in the way, release that first."""
    try:
        bind(request, plan, seen, False)
    except CopyRequiredError:
        for name, tensor in spare.items():
            request.set_input_tensor(name, tensor)
        try:
            bind(request, plan, seen, copy)
        except CopyRequiredError as refused:
            reasons = [*refused.reasons, *seen.why, _WAY_OUT]
            raise CopyRequiredError(
                seen.given.context.node, refused.target, refused.edge, reasons
            ) from refused


def _own_inputs(request: InferRequest, plan: Plan) -> dict[str, Tensor]:
    """Tensors that the plugin allocated, to be bound in place of a frame.

    An NPU imports each page once, and frames of a decoder that lie side by side share pages.
    OpenVINO cannot unset a tensor, and the user may hold outputs, and with them the request.
    """
    return {name: request.get_input_tensor(name) for name in plan.names}


def _is_npu(plan: Plan) -> bool:
    context = plan.compiled.context
    return context is not None and context.device_name.startswith("NPU")


def _on_the_npu(plan: Plan, seen: Seen) -> Sequence[Tensor] | None:
    """The whole rows in the NPU's memory, mapped as one frame: planes may share a page then."""
    context = plan.compiled.context
    if seen.rows is None or context is None or not _is_npu(plan):
        return None
    try:
        return seen.wide_frame().map(context, "r").planes
    except RouteError:
        return None  # one by one: the plugin itself uses memory that it knows already


def _targets(request: InferRequest, plan: Plan) -> list[Array]:
    """Arrays of the planes' shapes over the request's own input tensors."""
    arrays = []
    for index, layout in enumerate(plan.source.info.plane_layouts()):
        own = request.get_input_tensor(index).host_array()
        arrays.append(own.reshape(-1).view(layout.dtype).reshape(layout.shape))
    return arrays
