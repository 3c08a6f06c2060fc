# SPDX-License-Identifier: Apache-2.0
"""The whole demo: the pass that verifies, the contact sheet, the timed passes, the report."""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path
from typing import Any

import openvino

from ._boxes import Box
from ._clip import make_clip
from ._compare import ROUNDS, compare_pipelines, one_thread
from ._compare_rgb import RgbComparison, compare_rgb
from ._copying import why_not
from ._detector import Detector, MotionDetector
from ._errors import DemoError
from ._model import ModelDetector, read_image_model
from ._net import Network, stand_in
from ._progress import progress
from ._reader import Picture, Reader
from ._report import Report
from ._rgb import why_not_by_hand
from ._rounds import Comparison
from ._sheet import make_sheet
from ._signals import Ending
from ._streams import ROUNDS as STREAM_ROUNDS
from ._streams import Throughput, measure_streams
from .pipelines import WAIT, run_samebytes

__all__ = ["run_demo"]

_4K_FRAMES = 20


def run_demo(args: argparse.Namespace, source: Path, folder: Path, ending: Ending) -> Report:
    """Run the parts of the demo that the command line asks for.

    Args:
        args: the options of _command.py.
        source: the video to read.
        folder: a folder for temporary files.
        ending: it is checked between frames and passes.

    Raises:
        DemoError, samebytes.SamebytesError: it cannot be done.
        Ended: a signal ended it.
    """
    job = _Job(args, source, folder, ending)
    sheet = _sheet_beside(args.output, source)
    result = job.verify()
    make_sheet(args.output, sheet, result.frames)
    report = Report(
        source="a test clip made by FFmpeg" if args.input is None else str(source),
        image=job.picture.image,
        codec=job.codec,
        summary=job.detector(job.picture).summary,
        device=args.device,
        device_name=str(openvino.Core().get_property(args.device, "FULL_DEVICE_NAME")),
        output=args.output,
        sheet=sheet,
        result=result,
    )
    if args.no_compare:
        report.not_compared = "--no-compare was given"
        return report
    with one_thread():
        report.pipeline = job.compare_pipelines(result.boxes)
        try:
            report.network, report.rgb = job.compare_rgb(result.frames)
        except DemoError as error:
            report.no_rgb = str(error)
        if args.streams is not None and report.network is not None:
            report.streams = job.measure_streams(report.network, args.streams)
    return report


class _Job:
    """The video and the detector, and the passes that are run with them."""

    def __init__(
        self, args: argparse.Namespace, source: Path, folder: Path, ending: Ending
    ) -> None:
        self._args, self._source, self._folder, self._ending = args, source, folder, ending
        with Reader(source) as reader:
            self.picture, self.codec = reader.picture, reader.codec
            self._total = min(filter(None, (args.frames, reader.expected)), default=None)
        self._options: dict[str, Any] = {
            "wait": args.wait or WAIT,
            "allow_copy": args.allow_copy,
            "own_pages": args.device.startswith("NPU"),
        }
        self.detector = cache(self._detector)

    def verify(self) -> Any:
        """Run the pass that writes the video, and compare addresses on the way."""
        with progress("verifying", self._total, quiet=self._args.json) as show:

            def on_frame(done: int) -> None:
                self._ending.check()
                show(done)

            return run_samebytes(
                self._source,
                self._args.output,
                detector=self.detector,
                frames=self._args.frames,
                on_frame=on_frame,
                **self._options,
            )

    def compare_pipelines(self, boxes: list[list[Box]]) -> Comparison:
        """Decode, find boxes, draw, encode."""
        missing = {}
        if self._args.device != "CPU":
            missing["by hand"] = f"it has tensors of the host, which the {self._args.device} copies"
        if (reason := why_not(self.picture)) is not None:
            missing["copying"] = reason
        with progress("pipeline", ROUNDS * 3, quiet=self._args.json) as show:
            return compare_pipelines(
                self._source,
                # With the same suffix as the other one, since that decides the container.
                self._folder / f"pass{self._args.output.suffix}",
                self.detector,
                boxes,
                options=self._options,
                missing=missing,
                on_pass=self._checking(show),
            )

    def compare_rgb(self, frames: int) -> tuple[Network, RgbComparison]:
        """Decode, make the model's picture, run it."""
        network = self._network()
        reason = why_not_by_hand(self.picture)
        with progress("RGB model", ROUNDS * 3, quiet=self._args.json) as show:
            return network, compare_rgb(
                self._source,
                network,
                frames,
                missing={} if reason is None else {"by hand": reason},
                on_pass=self._checking(show),
            )

    def measure_streams(self, network: Network, streams: int) -> list[Throughput]:
        """Run several streams of the video, and of a test clip in 4K if the demo made its own."""
        sources = [self._source]
        if self._args.input is None:
            sources.append(self._folder / "4k.mp4")
            make_clip(sources[1], _4K_FRAMES, 3840, 2160, on_frame=lambda _: self._ending.check())
        passes = 2 * (STREAM_ROUNDS + 1)
        found = []
        for source in sources:
            with progress("streams", passes, quiet=self._args.json) as show:
                found.append(measure_streams(source, network, streams, self._checking(show)))
        return found

    def _checking(self, show: Any) -> Any:
        def on_pass(done: int) -> None:
            self._ending.check()
            show(done)

        return on_pass

    def _detector(self, picture: Picture) -> Detector:
        args = self._args
        if args.model is None:
            return MotionDetector(picture, args.device, threads=1)
        return ModelDetector(args.model, picture, args.device, threads=1)

    def _network(self) -> Network:
        args = self._args
        if args.model is None:
            summary = "a stand-in for yours: convolutions with random weights"
            return Network(summary, stand_in(), device=args.device, threads=1)
        model, layout = read_image_model(args.model, self.picture.image)
        return Network(args.model.name, model, layout, args.device, threads=1)


def _sheet_beside(output: Path, source: Path) -> Path:
    if not output.name:
        raise DemoError("--output must be a file name")
    sheet = output.with_suffix(".png")
    if sheet == output:
        raise DemoError(f"{sheet} is where the contact sheet goes: give --output another ending")
    if sheet.exists() and source.exists() and sheet.samefile(source):
        raise DemoError(
            f"{sheet} is the input, and the contact sheet would overwrite it: give --output "
            "another name"
        )
    return sheet
