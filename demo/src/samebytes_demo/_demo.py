# SPDX-License-Identifier: Apache-2.0
"""The whole demo: both pipelines, the contact sheet, the report."""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

import samebytes as sb
from samebytes import ImageInfo, Route

from ._copying import why_not
from ._detector import Detector, MotionDetector
from ._model import ModelDetector
from ._progress import progress
from ._report import Report
from ._sheet import make_sheet
from ._video import Reader
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
    def detector(image: ImageInfo) -> Detector:
        if args.model is None:
            return MotionDetector(image, args.device)
        return ModelDetector(args.model, image, args.device)

    with Reader(source) as reader:
        image, codec, name = reader.image, reader.codec, reader.format
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
        image=image,
        codec=codec,
        summary=detector(image).summary,
        device=args.device,
        output=args.output,
        sheet=sheet,
        routes=_routes(image),
        result=result,
        not_compared="--no-compare" if args.no_compare else why_not(image, name) or "",
    )
    if not report.not_compared:
        with progress("copying", total, quiet=args.json) as on_frame:
            # With the ending of the other one, which decides about the container.
            target = folder / f"copying{args.output.suffix}"
            report.copying = run_copying(
                source, target, detector=detector, frames=args.frames, on_frame=on_frame
            )
    return report


def _routes(image: ImageInfo) -> list[Route]:
    """The mappings in the order in which a frame goes through them."""
    return [
        sb.route("ffmpeg", "openvino", format=image.format),
        sb.route("openvino", "opencv", level="tensor"),
        sb.route("ffmpeg", "opencv", access="rw", format=image.format),
    ]
