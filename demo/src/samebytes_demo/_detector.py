# SPDX-License-Identifier: Apache-2.0
"""Detectors: movement here, a user's model in _model.py."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino
from openvino import opset13 as ops

import samebytes_openvino as sbo

from ._boxes import Array, Box, find_boxes
from ._reader import Picture

__all__ = ["CELL", "Detector", "Input", "MotionDetector", "compile_model"]

CELL = 8
"""The pixels along each side of a cell of the motion mask."""

_THRESHOLD = 12.0
"""The mean change of a cell's pixels, in steps of 8-bit luma, that counts as movement."""


@dataclass(frozen=True, slots=True)
class Input:
    """The plane that goes to an input of the model.

    Attributes:
        name: the name of the input.
        plane: its number in the frame.
        age: 0 for the frame at hand, 1 for the one before it.
    """

    name: str
    plane: int
    age: int = 0


class Detector(ABC):
    """A compiled model, with its inputs and a way to read its output.

    Attributes:
        summary: one line for the report.
        compiled: the openvino.CompiledModel, with the context of its device.
        inputs: the planes that it reads.
        output: the number of the output that `boxes` reads.
        read_in: the memory type in which `boxes` reads it. OpenCV has no array of 64-bit
            integers, and none without elements.
    """

    summary: str
    compiled: Any
    inputs: tuple[Input, ...]
    output: int = 0
    read_in: str = "cpu"

    @abstractmethod
    def boxes(self, output: Array) -> list[Box]:
        """The boxes in the model's output, in pixels.

        Args:
            output: the memory of the output tensor itself, valid until the next inference.
        """


class MotionDetector(Detector):
    """A detector of movement since the previous frame: a model of a dozen operations, made here.

    It reads the luma of two frames, and returns a mask with one cell for 8 x 8 pixels.
    """

    read_in = "opencv"

    def __init__(
        self, picture: Picture, device: str = "CPU", *, threads: int | None = None
    ) -> None:
        self._image = picture.image
        self.inputs = (Input("previous", 0, age=1), Input("current", 0))
        model = _motion_model(picture.image.width, picture.image.height)
        self.compiled = compile_model(model, picture, self.inputs, device, threads)
        self.summary = f"movement between frames, in cells of {CELL}x{CELL} pixels"

    def boxes(self, output: Array) -> list[Box]:
        """One box around each group of cells that changed; none in the first frame."""
        return find_boxes(output, CELL, self._image)


def compile_model(
    model: Any,
    picture: Picture,
    inputs: tuple[Input, ...],
    device: str,
    threads: int | None = None,
) -> Any:
    """Compile for one such frame at a time, and run once, so that no measured frame pays for it.

    Args:
        threads: how many threads a CPU may use; None for OpenVINO's choice.
    """
    sbo.take_whole_rows(model, {entry.name: picture.columns(entry.plane) for entry in inputs})
    config = {"PERFORMANCE_HINT": "LATENCY"}
    if threads is not None and device == "CPU":
        config["INFERENCE_NUM_THREADS"] = str(threads)
    if device.startswith("GPU"):
        # By default, a GPU computes in half precision, and finds the edges of boxes elsewhere.
        config["INFERENCE_PRECISION_HINT"] = "f32"
    compiled = sbo.compile_model(model, device, config)
    compiled.create_infer_request().infer()
    return compiled


def _motion_model(width: int, height: int) -> Any:
    """A model from two uint8 [1, height, width, 1] to uint8 [rows, columns]: 255 for a change."""
    shape = [1, height, width, 1]
    previous, current = (
        ops.parameter(shape, np.uint8, name=name) for name in ("previous", "current")
    )
    for parameter in (previous, current):
        parameter.output(0).get_tensor().set_names({parameter.get_friendly_name()})
    # With one channel, NHWC and NCHW are the same bytes.
    planar = np.array([1, 1, height, width])
    before, now = (
        ops.reshape(ops.convert(p, "f32"), planar, special_zero=False) for p in (previous, current)
    )
    change = ops.abs(ops.subtract(now, before))
    lacking = [-height % CELL, -width % CELL]
    cells = ops.avg_pool(change, [CELL, CELL], [0, 0], lacking, [CELL, CELL], exclude_pad=True)
    moved = ops.convert(ops.greater(cells, ops.constant(np.float32(_THRESHOLD))), "f32")
    # Grow by a cell, then shrink by one, so that gaps inside a moving object close.
    closed = ops.negative(_grow(ops.negative(_grow(moved)))).output(0)
    mask = ops.multiply(closed, ops.constant(np.float32(255)))
    cells_2d = np.array(list(closed.get_shape())[2:])
    flat = ops.reshape(ops.convert(mask, "u8"), cells_2d, special_zero=False)
    return openvino.Model([ops.result(flat)], [previous, current], "motion")


def _grow(cells: Any) -> Any:
    """Replace each cell by the largest of itself and its eight neighbours."""
    return ops.max_pool(cells, [1, 1], [1, 1], [1, 1], [1, 1], [3, 3]).output(0)
