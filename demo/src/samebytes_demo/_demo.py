# SPDX-License-Identifier: Apache-2.0
"""The whole demo: both pipelines, the contact sheet, the report."""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

from ._copying import why_not
from ._detector import Detector, MotionDetector
from ._errors import DemoError
from ._model import ModelDetector
from ._progress import progress
from ._report import Report
from ._sheet import make_sheet
from ._video import Picture, Reader
from .pipelines import WAIT, run_copying, run_samebytes

__all__ = ["run_demo"]

_WARM_UP = 10
"""Frames that both pipelines run before they are compared."""


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

    if not args.output.name:
        raise DemoError("--output is no name of a file")
    sheet = args.output.with_suffix(".png")
    if sheet == args.output:
        raise DemoError(f"{sheet} is where the contact sheet goes: give --output another ending")
    if sheet.exists() and source.exists() and sheet.samefile(source):
        raise DemoError(
            f"{sheet} is the input, and the contact sheet would overwrite it: give --output "
            "another name"
        )
    own_pages = args.device.startswith("NPU")
    with Reader(source) as reader:
        picture, codec = reader.picture, reader.codec
        total = min(filter(None, (args.frames, reader.expected)), default=None)
    not_compared = "--no-compare was given" if args.no_compare else why_not(picture) or ""
    if not not_compared:
        # Whoever comes first would pay for what both need, such as the codecs' code in memory.
        scratch = folder / "warm-up.mp4"
        run_samebytes(
            source,
            scratch,
            detector=detector,
            frames=_WARM_UP,
            allow_copy=True,
            own_pages=own_pages,
        )
        run_copying(source, scratch, detector=detector, frames=_WARM_UP)
    with progress("samebytes", total, quiet=args.json) as on_frame:
        result = run_samebytes(
            source,
            args.output,
            detector=detector,
            frames=args.frames,
            wait=args.wait or WAIT,
            allow_copy=args.allow_copy,
            own_pages=own_pages,
            on_frame=on_frame,
        )
    make_sheet(args.output, sheet, result.frames)
    report = Report(
        source="a test clip made by FFmpeg" if args.input is None else str(source),
        image=picture.image,
        codec=codec,
        summary=detector(picture).summary,
        device=args.device,
        output=args.output,
        sheet=sheet,
        result=result,
        not_compared=not_compared,
    )
    if not not_compared:
        with progress("copying", total, quiet=args.json) as on_frame:
            # With the ending of the other one, which decides about the container.
            target = folder / f"copying{args.output.suffix}"
            report.copying = run_copying(
                source, target, detector=detector, frames=args.frames, on_frame=on_frame
            )
    return report
