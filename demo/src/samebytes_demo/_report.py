# SPDX-License-Identifier: Apache-2.0
"""What the demo tells when it is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebytes import ImageInfo

from ._loop import STAGES, Result

__all__ = ["Report"]

_BETWEEN = ("hand over", "infer", "draw")

NOISE = (
    "This is one run of each. On a computer that is busy with other things such times vary by "
    "more than\nthey differ: take the ratios as a hint. `python3 dev.py bench` in the sources "
    "measures with care."
)


@dataclass(slots=True)
class Report:
    """All of it, to be printed as text or as JSON.

    Attributes:
        source: where the video came from, in words.
        image, codec: of the input.
        summary: what was looked for.
        device: OpenVINO's name of it.
        output, sheet: the files that were written.
        result: of the pipeline with samebytes.
        copying: of the copying idiom; None if it did not run.
        not_compared: why it did not.
    """

    source: str
    image: ImageInfo
    codec: str
    summary: str
    device: str
    output: Path
    sheet: Path
    result: Result
    copying: Result | None = None
    not_compared: str = ""

    @property
    def same_boxes(self) -> bool:
        """Whether both pipelines found the same; True if only one ran."""
        return self.copying is None or self.copying.boxes == self.result.boxes

    def text(self) -> str:
        """The report in words."""
        parts = [self._what(), self._routes(), self._bytes(), self._comparison()]
        return "\n\n".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, for --json."""
        return {
            "input": self.source,
            "format": str(self.image.format),
            "width": self.image.width,
            "height": self.image.height,
            "codec": self.codec,
            "model": self.summary,
            "device": self.device,
            "output": str(self.output),
            "sheet": str(self.sheet),
            "routes": [route.as_dict() for route in self.result.routes],
            "samebytes": _result_dict(self.result),
            "copying": None if self.copying is None else _result_dict(self.copying),
            "not_compared": self.not_compared or None,
            "same_boxes": None if self.copying is None else self.same_boxes,
            "boxes": [
                [[b.x, b.y, b.width, b.height] for b in boxes] for boxes in self.result.boxes
            ],
        }

    def _what(self) -> str:
        result = self.result
        found = sum(map(len, result.boxes))
        hits = sum(map(bool, result.boxes))
        return _table(
            [
                ("input", f"{self.source}: {self.image}, {self.codec}"),
                ("model", f"{self.summary}; on {self.device}"),
                ("boxes", f"{found}, in {hits} of {result.frames} frames"),
                ("output", f"{self.output}: {result.frames} frames, {result.encoder}"),
                ("frames", f"{self.sheet}: some of them in one picture"),
            ]
        )

    def _routes(self) -> str:
        explained = [route.explain() for route in self.result.routes]
        return "\n".join(["How each frame went:", *explained])

    def _bytes(self) -> str:
        result = self.result
        lines = [f"Bytes copied between the frameworks: {result.copied_bytes:,}"]
        if result.equal_addresses:
            lines.append(
                f"Addresses compared while it ran, and equal: {result.equal_addresses:,} pairs"
            )
        lines.append(
            "A decoder goes on reading frames that it predicts others from: each waits before it "
            f"is drawn into,\nhere for {result.longest_wait} frames at most"
        )
        return "\n".join(lines)

    def _comparison(self) -> str:
        if self.copying is None:
            return f"Not compared with the copying idiom: {self.not_compared}"
        ours, theirs = self.result, self.copying
        same = "the same boxes" if self.same_boxes else "OTHER BOXES, which is an error"
        rows = [("ms per frame", "samebytes", "copying", "")]
        rows += [
            _row(stage, _milliseconds(ours, stage), _milliseconds(theirs, stage))
            for stage in STAGES
        ]
        for name, stages in (("without codecs", _BETWEEN), ("all", STAGES)):
            rows.append(_row(name, _milliseconds(ours, *stages), _milliseconds(theirs, *stages)))
        rows.append(
            (
                "bytes copied",
                f"{ours.copied_bytes // max(ours.frames, 1):,}",
                f"{theirs.copied_bytes // max(theirs.frames, 1):,}",
                "",
            )
        )
        lines = [f"  {a:<16}{b:>10}{c:>14}  {d}".rstrip() for a, b, c, d in rows]
        head = (
            "Beside the copying idiom (to_ndarray, openvino.Tensor, from_ndarray), which found "
            f"{same}:"
        )
        tail = (
            f"{ours.frames / ours.seconds:.0f} frames a second here, "
            f"{theirs.frames / theirs.seconds:.0f} there: "
            f"{theirs.seconds / ours.seconds:.2f} times as fast."
        )
        return "\n".join([head, *lines, tail, NOISE])


def _result_dict(result: Result) -> dict[str, Any]:
    return {
        "frames": result.frames,
        "seconds": result.seconds,
        "fps": result.frames / result.seconds,
        "stages": result.stages,
        "copied_bytes": result.copied_bytes,
        "equal_addresses": result.equal_addresses,
        "longest_wait": result.longest_wait,
        "encoder": result.encoder,
        "boxes": sum(map(len, result.boxes)),
    }


def _milliseconds(result: Result, *stages: str) -> float:
    return sum(result.stages[stage] for stage in stages) * 1000 / max(result.frames, 1)


def _row(name: str, ours: float, theirs: float) -> tuple[str, str, str, str]:
    ratio = f"{theirs / ours:.2f} x" if ours else ""
    return name, f"{ours:.3f}", f"{theirs:.3f}", ratio


def _table(rows: list[tuple[str, str]]) -> str:
    return "\n".join(f"{name:<8}{text}" for name, text in rows)
