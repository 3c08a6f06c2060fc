# SPDX-License-Identifier: Apache-2.0
"""The models that openvino.infer compiles: one for images, one for tensors, at the first frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openvino

from samebytes import Context, Frame, Tensor
from samebytes.errors import LayoutError, ParameterError

from .._image._batch import check_batch, identity, joined
from .._image._geometry import AS_IT_LIES, stored_size, turn_of
from .._image._model import ImageModel, PartsModel, choose_context, image_model, parts_model
from .._image._request import ImageRequest
from .._models._reading import Reading, read_model_file
from .._remote._context import RemoteContext
from .._request._compiled import CompiledModel, compile_model
from .._request._request import InferRequest
from ._results import Results
from ._runners import Request, new_outputs

__all__ = ["Models"]

_IMAGE = ("color", "mean", "scale", "size", "fit", "align", "pad")
_READ_BY = (*_IMAGE, "family", "labels", "confidence", "iou", "agnostic", "keypoints")


class Models:
    """The models of one openvino.infer, whose row pitches the first frame shows.

    Args:
        element: the openvino.infer; its parameters say how.
        read: its openvino.Model, or an openvino.CompiledModel.
        node: the memory type of its device; "" for the CPU, and for several devices.
        results: gets what the model says of its outputs.

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
        """See whether the model can have the element's batch.

        Args:
            of_tensors: of frames of tensors; for images the model is reshaped to one frame first.

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

    def outputs_for(self, request: InferRequest) -> list[dict[str, Tensor]] | None:
        """Memory for results that outlive the next inference, of each frame; None if none do."""
        if not self._results.outlive:
            return None
        compiled = self._tensors if self.images is None else self.images.compiled
        context = compiled.context if isinstance(compiled, CompiledModel) else None
        return new_outputs(request, context, self._element.batch)

    def close(self) -> None:
        """Release the model of images."""
        if isinstance(self.images, ImageModel):
            self.images.close()

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
        """On what to compile: the context on which the pipeline has settled, or a name."""
        return self._context_near(near) if self._node else str(self._element.device)

    def _context_near(self, near: Context) -> RemoteContext:
        found = self._element.pipeline_context(self._node, near)
        assert isinstance(found, RemoteContext), "no other plugin has such contexts"
        return found


def _check_labels(element: Any, reading: Reading) -> None:
    """See whether there is a label for each class, where the outputs show how many there are.

    With one too few or too many, nothing says which label is that of which class.

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
