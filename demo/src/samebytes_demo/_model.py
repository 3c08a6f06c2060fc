# SPDX-License-Identifier: Apache-2.0
"""A user's own model, on the planes of the frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openvino

import samebytes_openvino as sbo
from samebytes import ImageInfo

from ._boxes import Array, Box
from ._detector import Detector, Input, compile_model
from ._errors import DemoError
from ._reader import Picture

__all__ = ["CONFIDENCE", "ModelDetector", "read_image_model"]

CONFIDENCE = 0.5
"""The confidence below which detections are not drawn."""


class ModelDetector(Detector):
    """Runs a model with one image input; colour conversion and scaling become part of it.

    An output of [1, 1, N, 7] is read as the detections of an SSD: image, label, confidence, and
    the left, top, right and bottom edges from 0 to 1. Other outputs are not understood: the model
    then runs, and nothing is drawn.

    Args:
        path: an OpenVINO IR (.xml) or an ONNX file.
        picture: the properties of the frames: NV12 or I420.
        threads: how many threads a CPU may use; None for OpenVINO's choice.

    Raises:
        DemoError: the file cannot be read, or its model does not take one image.
        samebytes.SamebytesError: it cannot be given such frames.
    """

    def __init__(
        self, path: Path, picture: Picture, device: str = "CPU", *, threads: int | None = None
    ) -> None:
        self._image = image = picture.image
        if image.format.name not in ("I420", "NV12"):
            raise DemoError(
                f"models take frames of I420 or NV12, but these are {image.format}: "
                "convert the video: ffmpeg -i video.mp4 -pix_fmt yuv420p converted.mp4"
            )
        model, layout = read_image_model(path, image)
        prepared, names = sbo.yuv_inputs(
            model, image.format, image.width, image.height, layout=layout
        )
        self.inputs = tuple(Input(name, plane) for plane, name in enumerate(names))
        self.compiled = compile_model(prepared, picture, self.inputs, device, threads)
        found = [i for i, port in enumerate(self.compiled.outputs) if _is_detections(port)]
        self.output = found[0] if found else 0
        self._understood = bool(found)
        self.summary = f"{path.name}, fed with {len(names)} planes; {self._what_it_gives()}"

    def boxes(self, output: Array) -> list[Box]:
        """The confident detections; none if the output is not understood."""
        if not self._understood:
            return []
        boxes = []
        for image, _, confidence, *edges in output.reshape(-1, 7).tolist():
            if image < 0:  # the end of a list that is shorter than N
                break
            if confidence >= CONFIDENCE:
                boxes += _box(edges, self._image)
        return boxes

    def _what_it_gives(self) -> str:
        if self._understood:
            return f"its detections of {CONFIDENCE} and more are drawn"
        outputs = ", ".join(
            f"{port.get_element_type().type_name}{port.partial_shape}"
            for port in self.compiled.outputs
        )
        return (
            f"it gives {outputs}, which is not an SSD detection output ([1,1,N,7]), so the model "
            "runs and nothing is drawn"
        )


def read_image_model(path: Path, image: ImageInfo) -> tuple[Any, str]:
    """A model with one image input, and the layout of that: "NCHW" or "NHWC".

    A model that takes any size gets the size of the frames.

    Raises:
        DemoError: the file cannot be read, or the model does not take one image.
    """
    model = _read(path)
    return model, _fix_shape(path, model, image)


def _read(path: Path) -> Any:
    if not path.exists():
        raise DemoError(f"{path} does not exist")
    try:
        return openvino.Core().read_model(path)
    except RuntimeError as error:
        raise DemoError(f"OpenVINO cannot read {path}: {str(error).strip()}") from None


def _fix_shape(path: Path, model: Any, image: ImageInfo) -> str:
    """Give the input a fixed shape, if it takes any that of the frames; return its layout."""
    shape = model.inputs[0].partial_shape if len(model.inputs) == 1 else None
    if shape is None or shape.rank.is_dynamic or len(shape) != 4:
        raise DemoError(f"{path}: the demo runs models with one input, an image of four dimensions")
    sizes = [d.get_length() if d.is_static else None for d in shape]
    layout = "NHWC" if sizes[3] == 3 and sizes[1] != 3 else "NCHW"
    wanted = {"N": 1, "C": 3, "H": image.height, "W": image.width}
    fixed = [wanted[axis] if n is None else n for axis, n in zip(layout, sizes, strict=True)]
    if fixed[0] != 1 or fixed[layout.index("C")] != 3:
        raise DemoError(f"{path}: its input is {shape}, the demo gives it one image of 3 channels")
    if None in sizes:
        model.reshape(fixed)
    return layout


def _is_detections(port: Any) -> bool:
    shape = port.partial_shape
    if shape.rank.is_dynamic or len(shape) != 4:
        return False
    return [d.get_length() if d.is_static else None for d in shape][:2] == [1, 1] and bool(
        shape[3].is_static and shape[3].get_length() == 7
    )


def _box(edges: list[float], image: ImageInfo) -> list[Box]:
    """The box, cut to the picture; an empty list if nothing of it is left."""
    left, right = (round(min(max(e, 0.0), 1.0) * image.width) for e in (edges[0], edges[2]))
    top, bottom = (round(min(max(e, 0.0), 1.0) * image.height) for e in (edges[1], edges[3]))
    if right <= left or bottom <= top:
        return []
    return [Box(left, top, right - left, bottom - top)]
