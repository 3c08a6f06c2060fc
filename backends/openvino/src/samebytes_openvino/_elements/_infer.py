# SPDX-License-Identifier: Apache-2.0
"""openvino.infer: a model runs on each frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import openvino

from samebytes import Context, Frame
from samebytes.elements import Doc, FrameInfo, Image, Range, Tensors, Transform
from samebytes.errors import (
    ClosedError,
    ElementError,
    ParameterError,
    UnknownNameError,
)
from samebytes.formats import ImageFormat
from samebytes.metadata import AffineTransform

from .._core import check_device_name, default_core, read_model
from .._image._letterbox import Align, Fit
from .._image._model import ImageModel, PartsModel
from .._image._pixels import ColorMatrix, components_of
from .._image._request import ImageRequest, Quality, Resize
from .._models._families import Family
from .._models._reading import Reading
from .._request._outputs import WHOLE, outputs_of_item
from ._requests import Batch, Batches, Models, Request, Runners, bound, failed
from ._results import Results, check_signature
from ._second_stage import SecondStage, Wanted

__all__ = ["OpenVINOInfer"]

_PerChannel = float | tuple[float, float, float] | None
_Compiled = openvino.CompiledModel


def _known(name: str) -> ImageFormat | None:
    """The format; None for those of one framework alone, whose first frame shows the planes."""
    try:
        return ImageFormat.of(name)
    except UnknownNameError:
        return None


class OpenVINOInfer(Transform):
    """Runs a model on each frame, where the frame lies, and passes the frame on with the result.

    Images go through `image_model`: any format, size and padding that it takes, on any device.
    It maps them itself, to the memory of a GPU or NPU or to the CPU, on the context on which the
    pipeline has settled; `explain()` of the pipeline shows the route. Frames of tensors are bound
    to the inputs of the model in their order.

    With `postprocess`, the result is what that makes of the outputs: postprocess(frame, outputs)
    reads `outputs`, an OutputFrame, before the next inference overwrites them. It returns a list of
    regions, which are added to `frame.regions`, or None. Without it, `frame.metadata[key]` is a
    dict with a tensor for each output, by name, which lies in memory of the device and belongs to
    the frame.

    With `regions`, the model sees each region of the frame that has that label, where it lies in
    the planes, and what it makes of it is added to that region: a `Classification`, its outputs as
    `InferenceResult` entries, or, of a detector, regions of the frame whose `parent_id` is the `id`
    of that region. `postprocess` gets the region too: postprocess(frame, outputs, region). A frame
    without such a region is passed on. `batch` is how many regions of one frame one inference
    takes.

    With `upright`, the model sees pictures turned as their metadata say, and the regions that
    `postprocess` returns are of the upright picture, in its pixels (`metadata.upright_size(frame)`
    of samebytes). They are mapped back to the frame.

    Several threads run as many requests, `Pipeline.start(threads=4)`; on an NPU one, since frames
    of a decoder share pages, which it imports once. A frame is held until its result is out.

    With `requests` of 2 and more, one thread starts so many inferences and goes on; with `batch`,
    each takes so many frames, of whichever streams they are. Frames go on in the order in which
    they came, when the inferences before theirs have ended: that is seen when the next frame comes,
    or their stream ends.

    Raises:
        ParameterError: `postprocess` cannot be called with a frame and the outputs; there are
            `regions` as well as `resize`; or, when the pipeline starts, the model cannot have a
            batch of `batch`.
        ElementError: the model cannot be read or compiled, the device cannot use a frame in place
            and `copy` is False, or `postprocess` returned something else.
    """

    name = "openvino.infer"
    takes = (Image(), Tensors())

    model: Annotated[
        Path | openvino.Model | openvino.CompiledModel,
        Doc("a file, a model, or for tensors one that is compiled"),
    ]
    device: Annotated[str, Doc("what OpenVINO calls it: CPU, GPU, GPU.1, NPU ...")] = "CPU"
    postprocess: Annotated[
        Callable[..., Any] | None, Doc("postprocess(frame, outputs), which may return regions")
    ] = None
    key: Annotated[str, Doc("of the entry in the frame's metadata")] = "inference"
    regions: Annotated[
        Wanted, Doc("see regions of that label, or of these, in place of the frame; True for all")
    ] = False
    attribute: Annotated[str, Doc("what a classifier of regions is about: color, age")] = ""
    family: Annotated[
        Family | None, Doc('how outputs are read; None for what the model says; "none": tensors')
    ] = None
    labels: Annotated[
        tuple[str, ...] | None, Doc("names of the classes; None for what the model says")
    ] = None
    confidence: Annotated[
        float | None, Range(0, 1), Doc("what counts exceeds it; None for what the model says")
    ] = None
    iou: Annotated[
        float | None, Range(0, 1), Doc("from which overlap on the weaker box is left out")
    ] = None
    agnostic: Annotated[bool, Doc("boxes of other classes count for that as well")] = False
    keypoints: Annotated[
        tuple[int, int] | None, Doc("(number, 2 or 3 values each) of key points of a YOLO")
    ] = None
    color: Annotated[
        Literal["BGR", "RGB"] | None,
        Doc("as the model was trained; None for what it says, else BGR"),
    ] = None
    layout: Annotated[str | None, Doc("NCHW or NHWC; None for what the model says")] = None
    mean: Annotated[_PerChannel, Doc("taken from the image, of 0 to 255")] = None
    scale: Annotated[_PerChannel, Doc("by which the image is divided then")] = None
    size: Annotated[
        tuple[int, int] | None, Doc("(width, height) at which the model works; None for its own")
    ] = None
    resize: Annotated[
        Resize | None, Doc("resizes one plane into another, such as samebytes_opencv.resize")
    ] = None
    quality: Annotated[
        Quality, Doc('"fast" resizes planes by OpenCV on the CPU: see image_model')
    ] = "exact"
    color_range: Annotated[
        Literal["limited", "full"] | None, Doc("None for what the frame says")
    ] = None
    color_matrix: Annotated[
        ColorMatrix | None,
        Doc("how YUV becomes RGB; None for what the frame says, else BT.601"),
    ] = None
    upright: Annotated[
        bool, Doc("show pictures turned as frames say; regions are mapped back to the frame")
    ] = False
    fit: Annotated[
        Fit | None, Doc("how a picture of another shape becomes the model's image: see image_model")
    ] = None
    align: Annotated[
        Align | None, Doc('where a letterbox has the picture; which part of it "crop" keeps')
    ] = None
    pad: Annotated[
        float | tuple[float, float, float] | None, Doc("the colour around a letterbox, 0 to 255")
    ] = None
    requests: Annotated[
        int | None,
        Range(1),
        Doc("how many run at a time in one thread; None for one a thread, and on an NPU for one"),
    ] = None
    batch: Annotated[int, Range(1), Doc("how many frames, or regions, one inference takes")] = 1
    entries: Annotated[
        bool, Doc("results as samebytes.metadata.InferenceResult entries of the frame, too")
    ] = False
    config: Annotated[Mapping[Any, Any] | None, Doc("OpenVINO's properties, for compiling")] = None
    copy: Annotated[bool, Doc("copy what the device cannot use in place; it is counted")] = False

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        if self.postprocess is not None:
            check_signature(self.name, self.postprocess, self._of_regions)
        if self._of_regions and self._resizes:
            raise _resized_regions(self, "quality" if self.resize is None else "resize")
        self._media: set[str] = set()
        self._explained = ""
        self._models: Models | None = None
        self._runners: dict[bool, Runners] = {}
        self._batches: Batches | None = None
        self._second: SecondStage | None = None
        self._results: Results | None = None
        several = self.batch > 1 or (self.requests or 1) > 1
        self._batched = several and not self._of_regions
        # Frames in batches go on in their order, which several threads would not keep.
        vars(self)["concurrent"] = not self._batched

    @property
    def may_copy(self) -> bool:  # type: ignore[override]  # the class has one that is constant
        """True if the parameter `copy` allows copies."""
        return self.copy

    def maps_to(self, given: FrameInfo) -> str:
        """The memory of the device; that of the CPU for its models, and for planes to resize."""
        if isinstance(self.model, _Compiled):
            return ""  # made for a device, whatever `device` says
        if self._node and not (given.media == "image" and self._resizes):
            return self._node
        return "cpu" if given.media == "image" else "openvino"

    def negotiate(self, given: FrameInfo) -> FrameInfo:
        """See whether a model can be given such frames.

        Raises:
            UnknownNameError: a pixel format that is not supported, or no such device.
            MissingDependencyError: this machine has no such device.
            ValueError: a compiled model is given images or a batch, frames of tensors have no
                regions, or more frames are kept than the source's pool has.
        """
        if not isinstance(self.model, _Compiled):
            self._check_device()
        if given.media == "image":
            if isinstance(self.model, _Compiled):
                raise ValueError(
                    "a compiled model takes tensors, not images: give the openvino.Model or its "
                    "file, which is compiled for the frames"
                )
            if given.format is not None and (format_ := _known(given.format)) is not None:
                components_of(format_)
        elif self._of_regions:
            raise ValueError("frames of tensors have no regions: leave regions= out")
        self._media.add(given.media)
        if self.batch > 1 and isinstance(self.model, _Compiled):
            raise ValueError("a compiled model has its batch already: give the openvino.Model")
        if self._batched:
            _check_kept(given, self.batch * (self.requests or 1))
        return given

    def open(self, context: Context | None) -> None:
        """Read the model. It is compiled for the first frame, whose row pitch it must know.

        Raises:
            ParameterError: the model cannot have a batch of `batch`.
        """
        super().open(context)
        self._explained = ""
        model = self.model
        read = model if isinstance(model, _Compiled) else read_model(default_core(), model)
        name = "" if isinstance(model, _Compiled) else read.friendly_name
        self._results = Results(
            name, self.postprocess, self.key, self.entries, self.upright, self.attribute
        )
        self._models = models = Models(self, read, self._node, self._results)
        if not isinstance(model, _Compiled) and "image" in self._media:
            models.read_outputs(None)
        if self.batch > 1:
            models.check_batch(self._media == {"tensors"})
        if self._batched:
            requests = self.requests or 1
            self._batches = Batches(
                models.request_for, self._begin, self._finish, requests, self.batch
            )
            return
        most, on_npu = self.requests, self.device.startswith("NPU")
        if on_npu and (most is None or self._of_regions):
            # Frames of a decoder share pages, and an NPU imports a page once.
            most = 1
        if self._of_regions:
            each = most or 1
            self._runners = {True: Runners(models.image_request_for, most if each == 1 else None)}
            self._second = SecondStage(
                self.regions, self._runners[True], each, self.batch, self.copy, self._results,
                models.outputs_for,
            )  # fmt: skip
            return
        self._runners = {
            True: Runners(models.image_request_for, most),
            False: Runners(models.tensor_request_for, most),
        }

    def process(self, frame: Frame[Any]) -> Any:
        """Run the model, and add the result to the frame.

        Returns:
            The frame; or with several requests or a batch, those whose inferences have ended.
        """
        if self._batches is not None:
            return self._batches.put(frame)
        if self._second is not None:
            self._second.run(frame)
            return frame
        assert self._models is not None, "it is open"
        assert self._results is not None
        runners = self._runners[frame.meta.info is not None]
        idle = runners.take(frame)
        try:
            request = bound(idle, (frame,), copy=self.copy)
            tensors = self._models.outputs_for(request)[0] if self._results.outlive else None
            outputs = request.infer()
            transform = WHOLE
            if isinstance(idle, ImageRequest):
                transform = idle.transforms[0]
                idle.release_frame()
            else:
                request.release_inputs()
            self._results.of_frame(frame, tensors, outputs, transform)
        finally:
            runners.put_back(idle)
        return frame

    def end_of_stream(self, stream: int) -> Any:
        """Run what is left of a batch, and give the frames that are under way."""
        return None if self._batches is None else self._batches.end()

    def frames_kept(self) -> int:
        """The number of frames in a batch that is not full, and in inferences under way."""
        return 0 if self._batches is None else len(self._batches)

    def explain(self, frame: Frame[Any] | None = None) -> str:
        """A description of where images go, and what is converted where: see `ImageModel.explain`.

        Args:
            frame: the frame to describe. Without it, and with `regions`, the text holds for all
                frames of the layout that was seen last, and is available after the pipeline has
                ended as well.

        Returns:
            The text; "" before the first frame, and for tensors.

        Raises:
            ClosedError: a frame is given, and the pipeline has ended.
        """
        if isinstance(self._images, ImageModel):
            return self._with_reading(self._images.explain(frame))
        if self._second is not None:
            return self._with_reading("" if self._images is None else self._images.explain())
        if frame is not None and self._explained:
            raise ClosedError(
                f"{self.name}: the pipeline has ended, and the model is closed: explain() without "
                "a frame says what it did, and image_model() makes a model for this one"
            )
        return self._explained

    def close(self) -> None:
        """Release the model, and the frames that its requests hold."""
        super().close()
        for runners in self._runners.values():
            runners.close()
        if self._images is not None or self._second is not None:
            self._explained = self.explain()
        if self._models is not None:
            self._models.close()
        if self._batches is not None:
            self._batches.close()
        self._media.clear()
        self._runners, self._batches = {}, None
        self._models = self._results = self._second = None

    @property
    def _resizes(self) -> bool:
        return self.resize is not None or self.quality == "fast"

    @property
    def _of_regions(self) -> bool:
        return self.regions is not False

    @property
    def _images(self) -> ImageModel | PartsModel | None:
        return None if self._models is None else self._models.images

    @property
    def _reading(self) -> Reading | None:
        return None if self._results is None else self._results.reading

    def _with_reading(self, explained: str) -> str:
        """Return the lines on what was read from the model, from where, and on the regions seen."""
        lines = [*([] if self._reading is None else self._reading.lines), explained]
        if self._second is not None:
            lines.append(self._second.explain())
        return "\n".join(line for line in lines if line)

    @property
    def _node(self) -> str:
        """The memory type of one GPU or NPU; "" for the CPU, and for several devices."""
        kind = self.device.partition(".")[0]
        return f"openvino:{self.device}" if kind in ("GPU", "NPU") else ""

    def _check_device(self) -> None:
        if self._node:
            self.pipeline_context(self._node)
        else:
            check_device_name(default_core(), self.device)

    def _begin(self, request: Request, frames: list[Frame[Any]]) -> Batch:
        inferring = bound(request, frames, copy=self.copy)
        assert self._models is not None, "it is open"
        assert self._results is not None
        tensors = self._models.outputs_for(inferring) if self._results.outlive else None
        inferring.start_async()
        return Batch(frames, request, inferring, tensors)

    def _finish(self, batch: Batch) -> None:
        request, count = batch.inferring, self.batch
        assert self._results is not None, "it is open"
        try:
            request.wait()
            request.release_inputs()
        except RuntimeError as error:
            raise failed(self, batch.frames[0], f"the inference failed: {error}") from error
        for number, frame in enumerate(batch.frames):
            outputs = request.outputs() if count == 1 else outputs_of_item(request, number, count)
            try:
                tensors = None if batch.results is None else batch.results[number]
                self._results.of_frame(frame, tensors, outputs, _transform(batch.request, number))
            except ElementError:
                raise
            except Exception as error:
                raise failed(self, frame, f"{type(error).__name__}: {error}") from error


def _transform(request: Request, number: int) -> AffineTransform:
    """The transform from the model's image to the picture of a frame of the batch."""
    return request.transforms[number] if isinstance(request, ImageRequest) else WHOLE


def _resized_regions(element: Transform, name: str) -> ParameterError:
    """The error of a parameter that resizes whole frames, where regions of them are seen."""
    return ParameterError(
        element.name, name, getattr(element, name), "left out with regions=",
        says=f"parameter {name!r} is of whole frames, and pixels of regions= are chosen inside "
        f"the model: leave {name}= out",
    )  # fmt: skip


def _check_kept(given: FrameInfo, kept: int) -> None:
    """Raise ValueError if as many frames are kept under way as the source's pool has."""
    if given.pool is not None and kept >= given.pool:
        raise ValueError(
            f"it keeps up to {kept} of the frames of its source, which has only {given.pool}: use "
            "a smaller batch= or requests="
        )
