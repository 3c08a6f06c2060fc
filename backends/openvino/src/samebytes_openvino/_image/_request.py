# SPDX-License-Identifier: Apache-2.0
"""An inference request of an image model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import samebytes
from samebytes import Frame, Tensor
from samebytes.errors import (
    BusyError,
    ClosedError,
    CopyRequiredError,
    LayoutError,
    RouteError,
    UnsupportedObjectError,
)

from .._request._outputs import WHOLE, OutputFrame, placed
from .._request._request import InferRequest

if TYPE_CHECKING:
    from typing import Self

    from samebytes.metadata import AffineTransform

    from .._request._report import Binding
    from ._frames import Seen
    from ._plan import Plan

__all__ = ["ImageRequest", "Quality", "Resize", "bind", "is_npu"]

Array = np.ndarray[Any, Any]
Resize = Callable[[Array, Array], object]
Quality = Literal["exact", "fast"]

_WHOLE = (WHOLE,)

_WAY_OUT = (
    "copy=True copies what cannot be used in place, and counts it; resize= (see image_model) reads "
    "the planes where they lie, on every device; frames of "
    'samebytes.context("cpu").allocate_frame() are taken in place by all'
)


class ImageRequest:
    """One inference of an ImageModel at a time; several of them run side by side.

    Made by `ImageModel.create_infer_request()`. It holds the frame that was set until the next one
    is set, or until `release_frame()`, or until it is closed or dropped; with `resize=` the frame
    is read when it is set, and not held. One request is used by one thread at a time.

    Attributes:
        transforms: for each frame that was set last, from the model's image to its picture.
    """

    def __init__(
        self,
        look: Callable[[Frame, bool], Seen],
        resize: Resize | None,
        batch: int = 1,
        of_model: bool = False,
    ) -> None:
        self._batch = batch
        self._of_model = of_model  # the one that ImageModel.infer() uses
        self._look = look
        self.transforms: tuple[AffineTransform, ...] = _WHOLE
        self._resize = resize
        self._plan: Plan | None = None
        self._request: InferRequest | None = None
        self._spare: dict[str, Tensor] = {}
        self._targets: list[Array] = []
        self._released = False
        self._closed = False

    @property
    def request(self) -> InferRequest:
        """The InferRequest underneath, of the layout of the frame that was set last.

        Raises:
            BusyError: no frame was set yet.
            ClosedError: this request was closed.
        """
        if self._closed:
            self._check_open()
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
        self.set_frames((frame,), copy=copy)

    def set_frames(self, frames: Sequence[Frame], *, copy: bool = False) -> None:
        """Bind the frames of a batch, which have one layout.

        Args:
            frames: as many as the `batch` of the model, or fewer: then the outputs of the others
                are those of empty memory.
            copy: as for `set_frame`.

        Raises:
            LayoutError: no frame, more than the batch has, or frames of several layouts.
            BusyError: an inference is running.
            UnsupportedObjectError: one of them is not a frame.
            And the errors of `set_frame`.
        """
        if self._closed:
            self._check_open()
        if not 0 < len(frames) <= self._batch:
            raise LayoutError(
                f"{len(frames)} frames were passed, but this request takes 1 to {self._batch}"
            )
        for frame in frames:
            if not isinstance(frame, Frame):
                raise UnsupportedObjectError(
                    f"a {type(frame).__name__} is not a samebytes.Frame: wrap it, "
                    "samebytes.frame(...)"
                )
        request, spare = self._request, self._spare
        if request is not None and not request._inference.is_ready and not request.wait(0):
            raise BusyError("an inference is running: wait() for it, or use another request")
        looks = list(map(self._look, frames, repeat(copy)))
        plan = looks[0].known.plan
        if len(looks) > 1 and any(other.known.plan is not plan for other in looks):
            raise LayoutError("the frames of a batch have one layout: size, format and row pitch")
        # Without a request while it is bound: one with half of this frame must not run.
        before, self._plan, self._request = self._plan, None, None
        if request is None or plan is not before:
            request = InferRequest(plan.compiled)
            spare = self._spare = {}
            if self._resize is not None:
                self._targets = _targets(request, plan)
            elif is_npu(plan):
                spare = self._spare = _own_inputs(request, plan)
        if self._resize is not None:
            targets = iter(self._targets)
            for seen in looks:
                for array in seen.arrays():
                    self._resize(array, next(targets))
        else:
            for number, seen in enumerate(looks):
                _bind_or_let_go(request, plan, number, seen, spare, copy)
            for index in range(len(looks) * len(plan.source.pitches), len(plan.names)):
                request.set_input_tensor(index, self._empty(request, plan, index))
        first = looks[0].known.transform
        self.transforms = (
            (first,) if len(looks) == 1 else tuple([seen.known.transform for seen in looks])
        )
        self._plan, self._request = plan, request
        self._released = False

    def _empty(self, request: InferRequest, plan: Plan, index: int) -> Tensor:
        """Memory in place of a frame that is missing in a batch."""
        port = request.input_ports[index]
        assert port.shape is not None, "planes have fixed shapes"
        place = plan.compiled.context or samebytes.context("cpu")
        return place.allocate(port.shape, "uint8")

    def release_frame(self) -> None:
        """Let go of the frame, once an inference has read it: `InferRequest.release_inputs`.

        Others may then write to it. The outputs stay. If no frame is held, this does nothing.

        Raises:
            BusyError: an inference is running, and reads the frame.
            ClosedError: this request was closed.
        """
        if self._closed:
            self._check_open()
        if self._resize is not None:
            return
        if self._request is not None:
            self._request.release_inputs()
        self._released = True

    def infer(self, frame: Frame | None = None, *, copy: bool = False) -> OutputFrame:
        """Set a frame, unless it is left out, run, and return the outputs.

        Args:
            frame: of the format that the model was made for; None runs on the last one again.
            copy: copy what the device cannot use in place; it is counted in `samebytes.stats()`.

        Returns:
            The outputs in the request's own memory: the next inference overwrites them.

        Raises:
            The errors of `set_frame` and of `InferRequest.infer`.
        """
        if frame is not None:
            self.set_frames((frame,), copy=copy)
        else:
            self._check_set()
        outputs = (self._request or self.request).infer()
        return outputs if self.transforms == _WHOLE else placed(outputs, self._transform)

    def start_async(self, frame: Frame | None = None, *, copy: bool = False) -> None:
        """Start an inference and return; `wait()` and `outputs()` follow. Otherwise like `infer()`.

        Args:
            frame: of the format that the model was made for; None runs on the last one again.
            copy: copy what the device cannot use in place; it is counted in `samebytes.stats()`.
        """
        if frame is not None:
            self.set_frames((frame,), copy=copy)
        else:
            self._check_set()
        self.request.start_async()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for a running inference: `InferRequest.wait`.

        Args:
            timeout: seconds; None waits until it has ended.

        Returns:
            Whether no inference is running any more.
        """
        return self.request.wait(timeout)

    def outputs(self) -> OutputFrame:
        """The outputs of the last inference. The first look at them waits for a running one."""
        return placed(self.request.outputs(), self._transform)

    def bindings(self) -> tuple[Binding, ...]:
        """The binding of each input and output: what it reads or writes, and whether in place."""
        return self.request.bindings()

    def close(self) -> None:
        """Wait for a running inference, and release the frame.

        What a GPU plugin keeps of the inputs is released with the model: `ImageModel.close()`.
        """
        self._closed = True
        if self._request is not None:
            self._request.close()
        self._request = self._plan = None
        self._spare, self._targets = {}, []

    @property
    def _transform(self) -> AffineTransform:
        """The transform of all frames, if they have the same one."""
        first = self.transforms[0]
        if len(self.transforms) > 1 and any(other != first for other in self.transforms):
            return WHOLE
        return first

    def _check_set(self) -> None:
        if self._released:
            raise BusyError("the frame was released: call set_frame() or infer(frame) first")

    def _check_open(self) -> None:
        if not self._closed:
            return
        if self._of_model:
            raise ClosedError(
                "this ImageModel was closed, which ended the request that its infer() uses: make "
                "requests with create_infer_request(), or close the model when you no longer need "
                "infer()"
            )
        raise ClosedError("this image request was closed")

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def bind(request: InferRequest, plan: Plan, number: int, seen: Seen, copy: bool) -> None:
    """Give the planes of a frame to a request. Errors are those of `ImageRequest.set_frame`.

    Args:
        number: of the frame in the batch.
    """
    first = number * len(plan.source.pitches)
    in_place = seen.rows is not None and request._bindings.takes_dense
    if in_place and request._set_host_inputs(first, seen.host_tensors(), seen.frame):
        return
    tensors = _on_the_npu(plan, seen) or seen.tensors()
    if tensors is None:
        names = plan.names[first : first + len(plan.source.pitches)]
        request.set_frame(seen.frame, names, copy=copy)
        return
    for index, tensor in enumerate(tensors, first):  # in the order of the planes
        request.set_input_tensor(index, tensor, copy=copy)


def _bind_or_let_go(
    request: InferRequest,
    plan: Plan,
    number: int,
    seen: Seen,
    spare: Mapping[str, Tensor],
    copy: bool,
) -> None:
    """Call `bind`; if frames that the request still holds are in the way, release them first."""
    try:
        bind(request, plan, number, seen, False)
    except CopyRequiredError:
        for index in range(plan.inputs_of(number).start, len(plan.names)):
            if plan.names[index] in spare:
                request.set_input_tensor(index, spare[plan.names[index]])
        try:
            bind(request, plan, number, seen, copy)
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


def is_npu(plan: Plan) -> bool:
    """True if a plan is for an NPU."""
    context = plan.compiled.context
    return context is not None and context.device_name.startswith("NPU")


def _on_the_npu(plan: Plan, seen: Seen) -> Sequence[Tensor] | None:
    """The whole rows in the NPU's memory, mapped as one frame: planes may share a page then."""
    context = plan.compiled.context
    if seen.rows is None or context is None or not is_npu(plan):
        return None
    try:
        return seen.wide_frame().map(context, "r").planes
    except RouteError:
        return None  # one by one: the plugin itself uses memory that it knows already


def _targets(request: InferRequest, plan: Plan) -> list[Array]:
    """Arrays of the planes' shapes over the request's own input tensors."""
    arrays = []
    planes = plan.source.info.plane_layouts()
    for index, layout in enumerate(planes * (len(plan.names) // len(planes))):
        own = request.get_input_tensor(index).host_array()
        arrays.append(own.reshape(-1).view(layout.dtype).reshape(layout.shape))
    return arrays
