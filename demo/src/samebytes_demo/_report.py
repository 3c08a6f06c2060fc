# SPDX-License-Identifier: Apache-2.0
"""The report that the demo prints when it is done."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from samebytes import ImageInfo

from ._compare_rgb import RgbComparison
from ._loop import Result
from ._net import Network
from ._rounds import Comparison
from ._streams import ROUNDS, Throughput
from ._tables import as_dict, table, verdicts

__all__ = ["Report"]

_LEGEND = (
    "Saved: the median of what each round saved. In brackets: too few rounds agree on the sign,\n"
    "so no difference was shown."
)


@dataclass(slots=True)
class Report:
    """The report, to be printed as text or as JSON.

    Attributes:
        source: the origin of the video, in words.
        image, codec: the format and codec of the input.
        summary: the line about the detector.
        device, device_name: OpenVINO's short and long name of the device.
        output, sheet: the files that were written.
        result: the result of the pass that verifies.
        pipeline: the timed passes of the pipeline; None if there were none.
        network, rgb: the RGB model and its timed passes; None if there were none.
        not_compared: the reason why nothing was timed.
        no_rgb: the reason why the RGB model was not run.
        streams: the throughput of several streams at the same time; empty if not requested.
    """

    source: str
    image: ImageInfo
    codec: str
    summary: str
    device: str
    device_name: str
    output: Path
    sheet: Path
    result: Result
    pipeline: Comparison | None = None
    network: Network | None = None
    rgb: RgbComparison | None = None
    not_compared: str = ""
    no_rgb: str = ""
    streams: list[Throughput] = field(default_factory=list)

    @property
    def same_boxes(self) -> bool:
        """True if every pass found the same boxes, or if only one ran."""
        return self.pipeline is None or not self.pipeline.disagree

    @property
    def device_is_software(self) -> bool:
        """True if the device is a program on the CPU that stands in for hardware."""
        return "software" in self.device_name.lower()

    def text(self) -> str:
        """The report in words."""
        parts = [self._what(), self._checked()]
        if self.not_compared:
            parts.append(f"Nothing was timed: {self.not_compared}.")
        else:
            parts += [*self._pipeline(), *self._rgb(), *self._streams(), self._closing()]
        return "\n\n".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, for --json."""
        result = self.result
        return {
            "input": self.source,
            "format": str(self.image.format),
            "width": self.image.width,
            "height": self.image.height,
            "codec": self.codec,
            "model": self.summary,
            "device": self.device,
            "device_name": self.device_name,
            "device_is_software": self.device_is_software,
            "output": str(self.output),
            "sheet": str(self.sheet),
            "routes": [route.as_dict() for route in result.routes],
            "verified": {
                "frames": result.frames,
                "copied_bytes": result.copied_bytes,
                "equal_addresses": result.equal_addresses,
                "writes_seen": result.writes_seen,
                "longest_wait": result.longest_wait,
                "encoder": result.encoder,
            },
            "boxes": [[[b.x, b.y, b.width, b.height] for b in boxes] for boxes in result.boxes],
            "same_boxes": None if self.pipeline is None else self.same_boxes,
            "not_compared": self.not_compared or None,
            "pipeline": None if self.pipeline is None else as_dict(self.pipeline),
            "rgb": self._rgb_dict(),
            "no_rgb": self.no_rgb or None,
            "streams": [found.as_dict() for found in self.streams],
            "shown": self._shown(),
        }

    def _what(self) -> str:
        result = self.result
        found = sum(map(len, result.boxes))
        hits = sum(map(bool, result.boxes))
        rows = [
            ("input", f"{self.source}: {self.image}, {self.codec}"),
            ("model", f"{self.summary}; on {self.device} ({self.device_name})"),
            ("boxes", f"{found}, in {hits} of {result.frames} frames"),
            ("output", f"{self.output}: {result.frames} frames, {result.encoder}"),
            ("frames", f"{self.sheet}: some of them in one picture"),
        ]
        return "\n".join(f"{name:<8}{text}" for name, text in rows)

    def _checked(self) -> str:
        result = self.result
        waited = (
            "A decoder goes on reading frames that it predicts others from: each waits before it "
            f"is drawn\ninto, here for {result.longest_wait} frames at most"
        )
        return "\n".join(
            [
                "ONE MEMORY, checked in every frame of a separate pass, which is not timed",
                *(route.explain() for route in result.routes),
                f"Bytes copied between the frameworks: {result.copied_bytes:,}",
                f"Addresses compared, and equal: {result.equal_addresses:,} pairs",
                f"Writes by OpenCV, seen by FFmpeg or OpenVINO: {result.writes_seen:,}",
                waited,
            ]
        )

    def _pipeline(self) -> list[str]:
        if self.pipeline is None:
            return []
        lines = [
            "TIMED: decode, find boxes, draw them, encode",
            *_conditions(self.pipeline),
            *table(self.pipeline, "MB saved"),
            _LEGEND,
            *_missing(self.pipeline),
        ]
        lines += [f"OTHER BOXES, which is an error: {name}" for name in self.pipeline.disagree]
        return ["\n".join(lines)]

    def _streams(self) -> list[str]:
        if not self.streams:
            return []
        lines = [
            "TIMED: streams at the same time, each in its own thread: decode, run the RGB model",
            f"Each way in turn, the best of {ROUNDS} passes of all streams.",
        ]
        for found in self.streams:
            lines += textwrap.wrap(found.line(), 95, subsequent_indent="    ")
        return ["\n".join(lines)]

    def _rgb(self) -> list[str]:
        if self.rgb is None or self.network is None:
            return [f"The RGB model was not timed: {self.no_rgb}"]
        width, height = self.network.size
        lines = [
            f"TIMED: decode, make a BGR picture of {width}x{height}, run a model on it",
            f"The model: {self.network.summary}.",
            *_conditions(self.rgb.comparison),
            *table(self.rgb.comparison, "MB fewer"),
            _LEGEND,
            "MB: pictures made between the decoder and the model, at full size and resized.",
            *_missing(self.rgb.comparison),
        ]
        for name, apart in self.rgb.differences.items():
            lines.append(
                f"The model's input differs from samebytes', {name}: by {apart.mean:.2f} of 255 on "
                f"average, {apart.most:.0f} at most"
            )
        if "copying" in self.rgb.differences:
            lines.append(
                "(samebytes resizes first and converts the colour after; the copying idiom does it "
                "the other\nway round, at full size)"
            )
        return ["\n".join(lines)]

    def _shown(self) -> list[str]:
        lines = []
        if self.pipeline is not None:
            lines += verdicts(
                self.pipeline, "Find and draw boxes", "Find and draw boxes, decode and encode"
            )
        if self.rgb is not None:
            lines += verdicts(self.rgb.comparison, "RGB model", "RGB model and decoding")
        # The code that most users would write comes first.
        return sorted(lines, key=lambda line: "by hand" in line)

    def _closing(self) -> str:
        lines = [
            "WHAT THIS RUN SHOWED, in CPU time a frame: medians and ranges of the passes, and the",
            "median of the differences within each round",
        ]
        lines += [textwrap.fill(line, 98, subsequent_indent="    ") for line in self._shown()]
        if self.device_is_software:
            lines.append(
                f"{self.device} is a software device here, whose work is CPU time: this says "
                "nothing about\nhardware."
            )
        elif self.device != "CPU":
            lines.append(f"The work of the {self.device} itself is in the wall time alone.")
        return "\n".join(lines)

    def _rgb_dict(self) -> dict[str, Any] | None:
        if self.rgb is None or self.network is None:
            return None
        return {
            "model": self.network.summary,
            "size": list(self.network.size),
            **as_dict(self.rgb.comparison),
            "differences": {
                name: {"mean": apart.mean, "max": apart.most}
                for name, apart in self.rgb.differences.items()
            },
        }


def _conditions(comparison: Comparison) -> list[str]:
    turns = f"Each way in turn, {comparison.rounds} passes of {comparison.frames} frames; medians."
    return [
        f"{turns} Codecs, OpenCV and OpenVINO on",
        "a CPU use one thread, so that a stage costs its own work and waits for no other thread.",
    ]


def _missing(comparison: Comparison) -> list[str]:
    return [f"Not compared, {name}: {reason}" for name, reason in comparison.missing.items()]
