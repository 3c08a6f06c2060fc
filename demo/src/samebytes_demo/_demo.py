# SPDX-License-Identifier: Apache-2.0
"""The whole demo: both pipelines, the contact sheet, the report."""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

import samebytes as sb
from samebytes import Route

from ._copying import why_not
from ._detector import Detector, MotionDetector
from ._model import ModelDetector
from ._progress import progress
from ._report import Report
from ._sheet import make_sheet
from ._video import Picture, Reader
from .pipelines import WAIT, run_copying, run_samebytes

__all__ = ["run_demo"]


def run_demo(args: argparse.Namespace, source: Path, folder: Path) -> Report:
    """Run what the command line asks for.

    Args:
        args: from the options in _command.py.
        source: the video to read.
        folder: for temporary files.

    Raises:
        DemoError, samebytes.SamebytesError: it cannot be done.
    """

    @cache
    def detector(picture: Picture) -> Detector:
        if args.model is None:
            return MotionDetector(picture, args.device)
        return ModelDetector(args.model, picture, args.device)

    with Reader(source) as reader:
        picture, codec = reader.picture, reader.codec
        total = min(filter(None, (args.frames, reader.expected)), default=None)
    with progress("samebytes", total, quiet=args.json) as on_frame:
        result = run_samebytes(
            source,
            args.output,
            detector=detector,
            frames=args.frames,
            wait=args.wait or WAIT,
            allow_copy=args.allow_copy,
            on_frame=on_frame,
        )
    sheet = args.output.with_suffix(".png")
    make_sheet(args.output, sheet, result.frames)
    report = Report(
        source="a test clip made by FFmpeg" if args.input is None else str(source),
        image=picture.image,
        codec=codec,
        summary=detector(picture).summary,
        device=args.device,
        output=args.output,
        sheet=sheet,
        routes=_routes(picture, detector(picture)),
        result=result,
        not_compared="--no-compare" if args.no_compare else why_not(picture) or "",
    )
    if not report.not_compared:
        with progress("copying", total, quiet=args.json) as on_frame:
            # With the ending of the other one, which decides about the container.
            target = folder / f"copying{args.output.suffix}"
            report.copying = run_copying(
                source, target, detector=detector, frames=args.frames, on_frame=on_frame
            )
    return report


def _routes(picture: Picture, detector: Detector) -> list[Route]:
    """The mappings in the order in which a frame goes through them, for objects of that kind."""
    frame = sb.frame(picture.blank())
    first: sb.Frame | sb.Tensor = frame
    if picture.padded:
        first = frame.planes[0].map("cpu")
    output = sb.tensor(detector.compiled.create_infer_request().get_output_tensor(detector.output))
    return [
        sb.route(first, "openvino"),
        sb.route(output, "opencv"),
        sb.route(frame, "opencv", access="rw"),
    ]
