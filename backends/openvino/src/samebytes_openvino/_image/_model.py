# SPDX-License-Identifier: Apache-2.0
"""image_model: a model of RGB or BGR images that runs on frames as they are decoded.

PartsModel sees parts of a frame, as many at once as its batch has.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

from samebytes import Context, Frame, ImageInfo
from samebytes.errors import LayoutError
from samebytes.metadata import AffineTransform

from .._remote._context import RemoteContext
from .._request._compiled import CompiledModel
from .._request._outputs import OutputFrame
from .._request._request import InferRequest
from ._letterbox import Align, Box, Fit, Rule
from ._pixels import ColorMatrix, ColorRange
from ._planner import Planner, planner_for, rule_of
from ._request import ImageRequest, Quality, Resize

if TYPE_CHECKING:
    from ._batches import Array

__all__ = [
    "ImageModel",
    "PartsModel",
    "PartsRequest",
    "choose_context",
    "image_model",
    "parts_model",
]


def image_model(
    model: Any,
    example: Frame | ImageInfo,
    *,
    device: str | RemoteContext = "CPU",
    color: Literal["BGR", "RGB"] = "BGR",
    layout: str | None = None,
    mean: float | Sequence[float] | None = None,
    scale: float | Sequence[float] | None = None,
    size: tuple[int, int] | None = None,
    resize: Resize | None = None,
    quality: Quality = "exact",
    color_range: ColorRange | None = None,
    color_matrix: ColorMatrix | None = None,
    config: Mapping[Any, Any] | None = None,
    core: Any = None,
    batch: int = 1,
    upright: bool = False,
    fit: Fit = "stretch",
    align: Align = "center",
    pad: float | Sequence[float] = 0,
) -> ImageModel:
    """A model of RGB or BGR images that takes frames as a decoder gives them.

    Colour conversion, scaling to the model's size, mean and scale, and conversion to the model's
    element type become part of the model, so that it reads the planes of a frame where they lie:
    on the CPU, a GPU or an NPU, with padded rows or without.

        model = image_model("detector.onnx", frame, device="CPU", color="RGB", scale=255)
        outputs = model.infer(frame)

    Args:
        model: a path (.onnx, .xml, .tflite ...) or an openvino.Model, which is not changed. It has
            one input: an image of three channels, of u8, f16 or f32, of fixed or dynamic shape.
        example: one of the frames, or what they are like (then the row pitch is learnt from the
            first one). Frames of other sizes, formats and pitches are taken as well: the model is
            compiled for each once.
        device: what OpenVINO calls it, or a context of its memory.
        color: the order of channels that the model was trained with.
        layout: "NCHW" or "NHWC"; by default what the model says, or where its 3 channels are.
        mean, scale: (image - mean) / scale, in units of 0 to 255: one number, or one for each
            channel in the order of `color`.
        size: (width, height) that the model works at. By default its own; for a model of
            dynamic size, that of the example. It takes precedence over a size that the model
            fixes: the model is reshaped to it, as is a fixed batch to 1.
        resize: a function resize(source, target) that resizes one plane, an array of (rows,
            columns) or (rows, columns, channels), into another. The frame's planes are then mapped
            to the CPU and resized into the model's own input tensors, and only the colour is
            converted inside the model.
        quality: "exact" computes what OpenVINO's PrePostProcessor does, to within 1 of 255. "fast"
            is the fastest way on a CPU: `resize` by OpenCV, which samebytes-opencv brings. There
            edges of colour differ, since planes are resized before colour is converted.
        color_range: "limited" (16 to 235) or "full", of YUV and gray. By default what
            frame.metadata["color_range"] says, as FFmpeg's frames do that are marked so (JPEG,
            "yuvj420p"); else limited for YUV and full for gray.
        color_matrix: of YUV: "BT.601", "BT.709" (most HD video), "BT.2020" (UHD), "SMPTE 240M" or
            "FCC", or as frames say it: "bt709" ... By default what frame.metadata["color_matrix"]
            says, else "BT.601", as OpenVINO, OpenCV and FFmpeg convert what does not say.
        config: properties of OpenVINO, for compiling.
        core: the openvino.Core to use; by default one of samebytes' own.
        batch: how many frames one inference takes (`ImageRequest.set_frames`). Each frame has
            inputs and outputs of its own, which are joined to a batch and split inside of the
            model: "0/scores", "1/scores" ...
        upright: show pictures to the model turned and mirrored as frame.metadata["rotation"] and
            ["mirrored"] say. What it finds is in the upright picture, which has `upright_size()`;
            `upright_transform()`, both of samebytes.metadata, leads back to the frame.
        fit: how a picture of another shape becomes the model's image: "stretch" scales all of it to
            the model's size; "letterbox" keeps its shape, and fills what is left with `pad`;
            "crop" keeps its shape, and leaves out what sticks out. `ImageModel.transform` and
            `transform` of the outputs lead back to the picture.
        align: where in a letterbox the picture lies, and which part of it "crop" keeps: "center",
            "top-left" or "bottom-right".
        pad: the colour around a letterbox, 0 to 255: one number, or one for each channel in the
            order of `color`. Ultralytics' models were trained with 114.

    Raises:
        LayoutError: the model has no such input, its layout cannot be determined, or it cannot have
            that size; or the example says a matrix that cannot be computed ("ycgco").
        UnknownNameError: a colour order, range, matrix, layout, fit or align, or a format of the
            example that is not supported.
        UnsupportedObjectError: `model` or `example` is of another type.
        FileNotFoundError: the file does not exist.
        MissingDependencyError: OpenVINO has no such device on this machine; or `quality="fast"`
            needs a plugin that is not installed.
        RuntimeError: OpenVINO's, if it cannot read or compile the model.
    """
    planner = planner_for(
        model, example, device=device, color=color, layout=layout, mean=mean, scale=scale,
        size=size, resize=resize, quality=quality, color_range=color_range,
        color_matrix=color_matrix, config=config, core=core, batch=batch, upright=upright, fit=fit,
        align=align, pad=pad,
    )  # fmt: skip
    return ImageModel(planner, batch)


class ImageModel:
    """A compiled model that takes frames, as `image_model` returns it.

    `infer()` uses a request of the model's own, in each thread another one, which ends with the
    thread. For several inferences at a time in one thread, make requests: `create_infer_request()`.
    """

    def __init__(self, planner: Planner, batch: int) -> None:
        self._planner = planner
        self._batch = batch
        self._this_thread = threading.local()
        # The requests of all threads, by the thread's id.
        self._own: WeakValueDictionary[int, ImageRequest] = WeakValueDictionary()
        self._closed = False

    @property
    def compiled(self) -> CompiledModel:
        """The compiled model for frames of the layout that was seen last. Its inputs are planes."""
        return self._planner.last.compiled

    @property
    def input_size(self) -> tuple[int, int]:
        """(width, height) that the model works at."""
        return self._planner.target.size

    def infer(self, frame: Frame, *, copy: bool = False) -> OutputFrame:
        """Run on a frame: `ImageRequest.infer` of the model's own request in this thread.

        The frame is not held after the call. The thread's next call overwrites the outputs.

        Args:
            frame: of any memory type that can be mapped to the device or to the CPU.
            copy: allow a copy where the device cannot use the planes in place. It is counted in
                `samebytes.stats()`.

        Returns:
            The outputs, one tensor each, in memory that the thread's next call overwrites.

        Raises:
            CopyRequiredError: a copy is needed, and `copy` is False; the message says why.
            ClosedError: the model was closed.
            And the errors of `ImageRequest.set_frame` and `InferRequest.infer`.
        """
        own: ImageRequest | None = getattr(self._this_thread, "request", None)
        if own is None:
            own = self._this_thread.request = self._begin()
        outputs = own.infer(frame, copy=copy)
        if self._planner.resize is None:  # else it has read the frame already
            own.release_frame()
        return outputs

    def create_infer_request(self) -> ImageRequest:
        """Its own request, for inferences that run side by side."""
        return self._request()

    def transform(self, frame: Frame) -> AffineTransform:
        """The transform from the model's image to the picture of a frame, both normalised.

        With `fit="letterbox"` and "crop" it maps what the model finds back to the picture:
        `bounds()` does so for boxes. With `upright` it leads to the upright picture.

        Args:
            frame: the frame that has the picture.

        Raises:
            LayoutError: it is not an image, or its metadata say what cannot be.
        """
        return self._planner.transform(frame)

    def explain(self, frame: Frame | None = None) -> str:
        """A description of where a frame goes, what is converted where, and what is copied.

        Args:
            frame: the frame to explain. Without it, the description is that of all frames of the
                layout that was seen last.
        """
        from ._explain import explanation, placements  # what programs seldom ask for

        planner = self._planner
        resizes = planner.resize is not None
        name = planner.device_name
        if frame is None:
            lines = explanation(planner.last, planner.target, name, None, resizes, planner.rule)
            return "\n".join(lines)
        seen = planner.look(frame, False)
        plan = seen.known.plan
        size = frame.width, frame.height
        lines = explanation(plan, planner.target, name, size, resizes, planner.rule)
        return "\n".join([*lines, placements(plan, frame, seen, resizes)])

    def close(self) -> None:
        """End the model's own requests, and release the frames that they hold.

        The model's own `infer()` raises ClosedError from then on. Requests that
        `create_infer_request()` made, or makes later, are not affected. A GPU plugin keeps the
        model's own memory, and its handles of the last inputs, until the model is dropped: they
        count in GPU_MEMORY_STATISTICS.
        """
        self._closed = True
        for ref in self._own.valuerefs():  # a list: other threads may begin meanwhile
            own = ref()
            if own is not None:
                own.close()

    def _begin(self) -> ImageRequest:
        """Return the request of this thread, which it has not had yet."""
        own = self._request(of_model=True)
        self._own[id(own)] = own
        if self._closed:
            own.close()
        return own

    def _request(self, of_model: bool = False) -> ImageRequest:
        planner = self._planner
        return ImageRequest(planner.look, planner.resize, self._batch, of_model)

    def __repr__(self) -> str:
        width, height = self.input_size
        planner = self._planner
        return f"<ImageModel {planner.target.color} {width}x{height} on {planner.device_name}>"


def choose_context(
    model: ImageModel | PartsModel, choose: Callable[[Context], RemoteContext]
) -> None:
    """Let frames go to the context of the model's device that shares the handles of theirs.

    `openvino.infer` compiles for the context of the elements before it, but frames may come from
    any of its sources.

    Args:
        model: made for a context.
        choose: gives that context for the context of a frame.
    """
    model._planner.choose = choose


def parts_model(
    model: Any, example: Frame | ImageInfo, *, count: int, **options: Any
) -> PartsModel:
    """A model of parts of frames. Arguments and errors are those of `image_model`.

    Args:
        count: how many parts one inference takes, all of one frame.
        options: those of `image_model`, without `resize`; `fit` is about the parts.
    """
    planner = planner_for(model, example, batch=count, parts=True, **options)
    rule = {name: options[name] for name in ("fit", "align", "pad") if name in options}
    return PartsModel(planner, count, rule_of(**rule))


class PartsModel:
    """A compiled model that takes a frame, and which parts of it to see."""

    def __init__(self, planner: Planner, count: int, rule: Rule) -> None:
        self._planner = planner
        self._count = count
        self._rule = rule

    @property
    def compiled(self) -> CompiledModel:
        """The compiled model for frames of the layout that was seen last."""
        return self._planner.last.compiled

    def create_infer_request(self) -> PartsRequest:
        """A request, for inferences that run side by side."""
        return PartsRequest(self._planner, self._count, self._rule)

    def explain(self) -> str:
        """A description of what is converted where, in frames of the layout that was seen last."""
        from ._explain import explanation_of_parts  # what programs seldom ask for

        planner = self._planner
        name, target = planner.device_name, planner.target
        return "\n".join(explanation_of_parts(planner.last, target, name, self._rule, self._count))


class PartsRequest(ImageRequest):
    """One inference of a PartsModel at a time. Bind frames with `set_parts` alone."""

    def __init__(self, planner: Planner, count: int, rule: Rule) -> None:
        super().__init__(planner.look, None)
        self._planner = planner
        self._count = count
        self._rule = rule
        self._of: InferRequest | None = None
        self._tables: dict[str, Array] = {}

    def set_parts(
        self, frame: Frame, parts: Sequence[Box], *, copy: bool = False
    ) -> list[AffineTransform]:
        """Bind a frame, and say which parts of it to see.

        Args:
            frame: as for `ImageRequest.set_frame`, whose errors are those of this.
            parts: as many as the batch has items, or fewer; each lies in the frame.
            copy: as for `set_frame`.

        Returns:
            Of each part, the transform from the model's image to the frame.
        """
        from ._batches import fill, shown  # most models see whole frames

        if not 0 < len(parts) <= self._count:
            raise LayoutError(
                f"{len(parts)} parts were passed, but this request takes 1 to {self._count}"
            )
        self.set_frame(frame, copy=copy)
        request, plan = self.request, self._plan
        assert plan is not None, "a frame was set"
        if request is not self._of:
            self._tables = {
                name: request.get_input_tensor(name).host_array() for name in plan.tables
            }
            self._of = request
        size, target, turn = plan.source.size, self._planner.target.size, plan.source.turn
        found = [shown(self._rule, target, size, part, turn) for part in parts]
        fill(self._tables, found)
        return [one.transform for one in found]

    def close(self) -> None:
        """Wait for a running inference, and release the frame."""
        super().close()
        self._of, self._tables = None, {}
