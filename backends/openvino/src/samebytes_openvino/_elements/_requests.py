# SPDX-License-Identifier: Apache-2.0
"""The models that openvino.infer compiles, and their requests, shared by threads or for one thread.

One model is for images and one for tensors; each is compiled at its first frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import openvino

import samebytes
from samebytes import Context, Frame, Tensor
from samebytes.elements import Transform
from samebytes.errors import ElementError, LayoutError, MetadataError, ParameterError
from samebytes.metadata import SourceIdentifier, find
from samebytes.plugins import Lock

from .._image._batches import check_batch, identity, joined
from .._image._letterbox import AS_IT_LIES, stored_size, turn_of
from .._image._model import ImageModel, PartsModel, choose_context, image_model, parts_model
from .._image._request import ImageRequest
from .._models._reading import Reading, read_model_file
from .._remote._context import RemoteContext
from .._request._compiled import CompiledModel, compile_model
from .._request._request import InferRequest
from ._results import Results

__all__ = ["Batch", "Batches", "Models", "Request", "Runners", "bound", "failed"]

Request = ImageRequest | InferRequest


class Runners:
    """The requests of one model, made when all others are busy.

    Args:
        make: makes another one for a frame. It is called by one thread at a time.
        most: the most that are made; None for as many as there are threads.
    """

    def __init__(self, make: Callable[[Frame[Any]], Request], most: int | None) -> None:
        self._make = make
        self._most = most
        self._made = 0
        self._lock = Lock()
        self._idle: SimpleQueue[Request] = SimpleQueue()

    @contextmanager
    def one(self, frame: Frame[Any]) -> Iterator[Request]:
        """A request that nobody else uses meanwhile."""
        request = self.take(frame)
        try:
            yield request
        finally:
            self.put_back(request)

    def take(self, frame: Frame[Any]) -> Request:
        """A request that nobody else uses until it is put back: `one` without a `with` block."""
        try:
            return self._idle.get_nowait()
        except Empty:
            pass
        with self._lock:
            if self._most is None or self._made < self._most:
                request = self._make(frame)
                self._made += 1
                return request
        return self._idle.get()  # one comes: requests are put back whatever happens

    def put_back(self, request: Request) -> None:
        """Let others use a request that `take` gave."""
        self._idle.put(request)

    def close(self) -> None:
        """Release all requests, and the frames that they hold."""
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return


def bound(request: Request, frames: Sequence[Frame[Any]], *, copy: bool) -> InferRequest:
    """Bind the frames of a batch to the first inputs of a request; return its InferRequest."""
    if isinstance(request, ImageRequest):
        request.set_frames(frames, copy=copy)
        return request.request
    ports = request.input_ports
    planes = [plane for frame in frames for plane in frame.planes]
    if len(frames) == 1 and len(planes) == len(ports):
        request.set_frame(frames[0], copy=copy)
        return request
    each = len(planes) // len(frames)
    if any(len(frame.planes) != each for frame in frames) or not each or len(ports) % each:
        raise LayoutError(
            f"the frames have {', '.join(str(len(f.planes)) for f in frames)} tensors, which "
            f"cannot be divided among the {len(ports)} inputs of the batch"
        )
    for port, plane in zip(ports, planes, strict=False):
        request.set_input_tensor(port.index, plane, copy=copy)
    return request


def new_outputs(
    request: InferRequest, context: Any, count: int = 1, copy: bool = False
) -> list[dict[str, Tensor]]:
    """Give a request new memory for this inference, so that its outputs outlive the next one.

    The CPU reads it in place, even for a GPU: there it is USM of the host, like a request's own
    outputs.

    Args:
        context: that of the device; None for the CPU.
        count: how many frames the batch has.
        copy: allow the copies of a plugin that converts elements of an output, and count them.

    Returns:
        For each frame, the tensors by the names of the outputs.

    Raises:
        LayoutError: an output has no fixed shape.
        CopyRequiredError: the plugin converts the elements of an output.
    """
    place = samebytes.context("cpu") if context is None else context
    usm_host = getattr(place, "create_usm_host_tensor", None)  # where plain memory is the device's
    ports = request.output_ports
    # The GPU plugin converts elements that it lacks, and writes them to memory of the CPU alone.
    converted = {
        binding.name
        for binding in (request.bindings() if usm_host else ())
        if binding.kind == "output" and binding.placement == "copied"
    }
    each = len(ports) // count
    made: list[dict[str, Tensor]] = [{} for _ in range(count)]
    for port in ports:
        if port.shape is None or port.element is None:
            raise LayoutError(
                f"{port} has no fixed shape and type: give postprocess=, which reads it before the "
                "next inference writes it again"
            )
        name = port.element.name
        if port.name in converted:
            tensor = samebytes.context("cpu").allocate(port.shape, name)
        else:
            tensor = usm_host(name, port.shape) if usm_host else place.allocate(port.shape, name)
        request.set_output_tensor(port.index, tensor, copy=copy)
        name = port.name if count == 1 else port.name.partition("/")[2]
        made[port.index // each][name] = tensor
    return made


_OBEYED = ("color_range", "color_matrix", "rotation", "mirrored")


@dataclass(slots=True)
class Batch:
    """A batch whose inference was started. It holds the frames, and the request holds their memory.

    Attributes:
        results: for each frame, its own outputs; None if those of the request are read.
    """

    frames: list[Frame[Any]]
    request: Request
    inferring: InferRequest
    results: list[dict[str, Tensor]] | None


class Batches:
    """The inferences of one thread.

    A batch is started when it is full, when a frame of another layout or meaning comes, and when a
    stream ends. Its frames go on when its inference and those of all earlier batches have ended.

    Args:
        make: makes a request for frames like a given one.
        begin: binds frames to a request and starts it.
        finish: reads the results of a batch into its frames.
        requests: how many run at a time, at most.
        batch: how many frames one takes.
    """

    def __init__(
        self,
        make: Callable[[Frame[Any]], Request],
        begin: Callable[[Request, list[Frame[Any]]], Batch],
        finish: Callable[[Batch], None],
        requests: int,
        batch: int,
    ) -> None:
        self._make = make
        self._begin = begin
        self._finish = finish
        self._requests = requests
        self._batch = batch
        self._filling: list[Frame[Any]] = []
        self._under_way: deque[Batch] = deque()
        self._idle: dict[bool, list[Request]] = {True: [], False: []}
        self._made = 0
        # Frames of an inference that has ended: a caller may stop taking them in the middle.
        self._giving: deque[Frame[Any]] = deque()

    def __len__(self) -> int:
        """The number of frames that have come in and not gone on yet."""
        under_way = sum(len(batch.frames) for batch in self._under_way)
        return len(self._filling) + under_way + len(self._giving)

    def put(self, frame: Frame[Any]) -> Iterator[Frame[Any]]:
        """Take a frame, and give those whose inferences have ended."""
        first = self._filling[0] if self._filling else frame
        other = first.context is not frame.context or first.meta.info != frame.meta.info
        other = other or (self._batch > 1 and _seen_as(first) != _seen_as(frame))
        # It is full already if another batch failed when this one was about to start.
        if other or len(self._filling) == self._batch:
            yield from self._start()
        self._filling.append(frame)
        if len(self._filling) == self._batch:
            yield from self._start()
        while self._under_way and self._under_way[0].inferring.idle:
            yield from self._end_first()

    def end(self) -> Iterator[Frame[Any]]:
        """Start what is left, and give all frames. What failed is raised at the end."""
        failure: Exception | None = None
        while self._filling or self._under_way:
            try:
                yield from self._start() if self._filling else self._end_first()
            except Exception as error:
                failure = failure or error
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # its traceback holds this call

    def close(self) -> None:
        """Release all requests, and the frames that they hold. Waits for those that run."""
        self._filling.clear()
        self._giving.clear()
        requests = [batch.request for batch in self._under_way]
        self._under_way.clear()
        for idle in self._idle.values():
            requests += idle
            idle.clear()
        for request in requests:
            request.close()

    def _start(self) -> Iterator[Frame[Any]]:
        if not self._filling:
            return
        image = _is_image(self._filling[0])
        while not self._idle[image] and self._made == self._requests and self._under_way:
            yield from self._end_first()
        frames, self._filling = self._filling, []
        request = self._idle_or_new(frames[0])
        try:
            self._under_way.append(self._begin(request, frames))
        except BaseException:
            self._idle[image].append(request)
            raise

    def _idle_or_new(self, frame: Frame[Any]) -> Request:
        image = _is_image(frame)
        if self._idle[image]:
            return self._idle[image].pop()
        if self._made == self._requests:  # all are for frames of the other kind
            self._idle[not image].pop().close()
            self._made -= 1
        request = self._make(frame)
        self._made += 1
        return request

    def _end_first(self) -> Iterator[Frame[Any]]:
        batch = self._under_way.popleft()
        try:
            self._finish(batch)
        finally:
            self._idle[_is_image(batch.frames[0])].append(batch.request)
        self._giving.extend(batch.frames)
        batch.frames.clear()
        while self._giving:
            yield self._giving.popleft()


def _seen_as(frame: Frame[Any]) -> tuple[Any, ...]:
    """The metadata that image models follow: frames that differ in them need separate models."""
    return tuple(frame.metadata.get(key) for key in _OBEYED)


def _is_image(frame: Frame[Any]) -> bool:
    return frame.meta.info is not None


def failed(element: Transform, frame: Frame[Any], what: str) -> ElementError:
    """The error about a frame other than the one that has just come.

    Args:
        element: the element in which it happened.
        what: what happened.
    """
    return ElementError(
        element.name, what, stream=_stream_of(frame), pts=frame.meta.pts,
        parameters=element.changed_parameters,
    )  # fmt: skip


def _stream_of(frame: Frame[Any]) -> int | None:
    """The number of a frame's stream, if it has one."""
    try:
        source = find(frame, SourceIdentifier)
    except MetadataError:
        return None
    return None if source is None else source.stream_id


_IMAGE = ("color", "mean", "scale", "size", "fit", "align", "pad")
_READ_BY = (*_IMAGE, "family", "labels", "confidence", "iou", "agnostic", "keypoints")


class Models:
    """The models of one openvino.infer, whose row pitches the first frame shows.

    Args:
        element: the openvino.infer; its parameters say how.
        read: its openvino.Model, or an openvino.CompiledModel.
        node: the memory type of its device; "" for the CPU, and for several devices.
        results: gets the way in which the model's outputs are read.

    Attributes:
        images: the model of images, or of their regions; None before the first one.
    """

    def __init__(self, element: Any, read: Any, node: str, results: Results) -> None:
        self.images: ImageModel | PartsModel | None = None
        self._element = element
        self._read = read
        self._node = node
        self._results = results
        self._tensors: Any = None

    def read_outputs(self, size: tuple[int, int] | None) -> None:
        """Find out how outputs are read, unless that is up to `postprocess`, or needs a size.

        Args:
            size: (width, height) of the model's image in pixels if it states none, or None.

        Raises:
            ParameterError: the family is not clear, or the outputs or the labels do not fit it.
        """
        element = self._element
        if element.postprocess is not None:
            return
        path = element.model if isinstance(element.model, Path) else None
        given = {name: getattr(element, name) for name in _READ_BY}
        try:
            reading = read_model_file(self._read, path, given, size)
        except LayoutError as error:
            raise ParameterError(
                element.name, "family", element.family, "a family", says=str(error)
            ) from error
        if reading is not None:
            _check_labels(element, reading)
        self._results.reading = reading

    def check_batch(self, of_tensors: bool) -> None:
        """Check that the model can have the element's batch.

        Args:
            of_tensors: the frames are tensors; for images the model is first reshaped to one frame.

        Raises:
            ParameterError: it cannot.
        """
        element, batch = self._element, self._element.batch
        try:
            if of_tensors:
                identity(self._read)
            check_batch(self._read, batch)
        except LayoutError as error:
            says = f"parameter 'batch' is {batch}: {error}"
            raise ParameterError(
                element.name, "batch", batch, "what the model can have", says=says
            ) from error

    def request_for(self, frame: Frame[Any]) -> Request:
        """A new request for frames like this one."""
        image = frame.meta.info is not None
        return self.image_request_for(frame) if image else self.tensor_request_for(frame)

    def tensor_request_for(self, frame: Frame[Any]) -> InferRequest:
        """A new request for frames of tensors."""
        if self._tensors is None:
            model, batch = self._read, self._element.batch
            if batch > 1:
                model = joined(model, batch, identity(model))
            if not isinstance(model, openvino.CompiledModel):
                model = compile_model(model, self._place(frame.context), self._element.config)
            self._tensors = model
        return InferRequest(self._tensors)

    def image_request_for(self, frame: Frame[Any]) -> ImageRequest:
        """A new request for images, or for their regions."""
        if self.images is None:
            self.images = self._image_model_for(frame)
        return self.images.create_infer_request()

    def outputs_for(self, request: InferRequest) -> list[dict[str, Tensor]]:
        """Memory for results that outlive the next inference, for each frame."""
        compiled = self._tensors if self.images is None else self.images.compiled
        context = compiled.context if isinstance(compiled, CompiledModel) else None
        return new_outputs(request, context, self._element.batch, self._element.copy)

    def close(self) -> None:
        """Release the models."""
        if isinstance(self.images, ImageModel):
            self.images.close()
        self.images = None  # on a device it calls this object

    def _image_model_for(self, frame: Frame[Any]) -> ImageModel | PartsModel:
        element, of_regions = self._element, self._element.regions is not False
        if self._results.reading is None:
            turn = turn_of(frame) if element.upright else AS_IT_LIES
            size = stored_size((frame.width, frame.height), turn)
            self.read_outputs(None if of_regions else size)
        options: dict[str, Any] = {
            "device": self._place(frame.context),
            "layout": element.layout,
            "color_range": element.color_range,
            "color_matrix": element.color_matrix,
            "config": element.config,
            "upright": element.upright,
            **self._image_options(),
        }
        made: ImageModel | PartsModel
        if of_regions:
            made = parts_model(self._read, frame, count=element.batch, **options)
        else:
            options |= {
                "resize": element.resize, "quality": element.quality, "batch": element.batch,
            }  # fmt: skip
            made = image_model(self._read, frame, **options)
        if self._node:
            choose_context(made, self._context_near)
        return made

    def _image_options(self) -> dict[str, Any]:
        """The options for the model's image, as the model states them or as they were passed."""
        if self._results.reading is not None:
            return self._results.reading.image_options
        options = {name: getattr(self._element, name) for name in _IMAGE}
        return {name: value for name, value in options.items() if value is not None}

    def _place(self, near: Context) -> RemoteContext | str:
        """The device to compile for: the context on which the pipeline has settled, or a name."""
        return self._context_near(near) if self._node else str(self._element.device)

    def _context_near(self, near: Context) -> RemoteContext:
        found = self._element.pipeline_context(self._node, near)
        assert isinstance(found, RemoteContext), "no other plugin has such contexts"
        return found


def _check_labels(element: Any, reading: Reading) -> None:
    """Check that there is a label for each class, if the outputs show how many there are.

    With a label too few or too many, nothing shows which label belongs to which class.

    Raises:
        ParameterError: there is another number of labels.
    """
    labels = reading.settings["labels"]
    if labels and reading.classes not in (None, len(labels)):
        raise ParameterError(
            element.name, "labels", labels, "a name for each class",
            says=f"{len(labels)} labels ({reading.places['labels']}) for outputs of "
            f"{reading.classes} classes: pass labels= with a name for each, or labels=[] for their "
            "numbers, or family= and keypoints= to read the outputs otherwise",
        )  # fmt: skip
