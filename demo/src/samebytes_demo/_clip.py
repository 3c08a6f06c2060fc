# SPDX-License-Identifier: Apache-2.0
"""A test clip: chequered tiles that move over a still grid, at places that can be computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
from av.filter import Graph
from av.filter.context import FilterContext
from av.video.frame import PictureType

from ._boxes import Box
from ._errors import DemoError

__all__ = ["HEIGHT", "RATE", "WIDTH", "Swing", "Tile", "make_clip", "tiles"]

WIDTH, HEIGHT = 1920, 1080
RATE = 30

_LANES = (640, 360)
"""The size for which the tiles' places are given in `tiles`; other sizes scale them."""


@dataclass(frozen=True, slots=True)
class Swing:
    """A coordinate that goes to and fro between `start` and `start + reach`, in pixels.

    `reach` is a multiple of `step`, so that it moves by `step` in every frame.
    """

    start: int
    reach: int
    step: int

    def at(self, frame: int) -> int:
        """The coordinate in that frame, the first being 0."""
        return self.start + abs(frame * self.step % (2 * self.reach) - self.reach)

    @property
    def expression(self) -> str:
        """The same as an expression for FFmpeg's overlay filter."""
        # By the time: that filter's own count of frames, `n`, begins with 1.
        moved = f"round(t*{RATE})*{self.step}"
        return f"{self.start}+abs(mod({moved},{2 * self.reach})-{self.reach})"


@dataclass(frozen=True, slots=True)
class Tile:
    """One moving rectangle. Because of its lines, every part of it changes when it moves."""

    colour: str
    width: int
    height: int
    x: Swing
    y: Swing

    def at(self, frame: int) -> Box:
        """The box at that frame."""
        return Box(self.x.at(frame), self.y.at(frame), self.width, self.height)


def tiles(width: int = WIDTH, height: int = HEIGHT) -> tuple[Tile, ...]:
    """The tiles of a clip of that size, each in its own lane so that they never meet."""
    unit = min(width / _LANES[0], height / _LANES[1])

    def tile(colour: str, size: tuple[int, int], lane: int, steps: tuple[int, int]) -> Tile:
        tile_width, tile_height = _even(size[0] * unit), _even(size[1] * unit)
        step, sway = (_even(s * unit) for s in steps)
        margin = _even(16 * unit)
        room = width - tile_width - 2 * margin
        return Tile(
            colour,
            tile_width,
            tile_height,
            Swing(margin, room // step * step, step),
            Swing(_even(lane * unit), 5 * sway, sway),
        )

    return (
        tile("0xE4572E", (96, 72), 24, (4, 2)),
        tile("0x3A86FF", (64, 64), 146, (6, 2)),
        tile("0xC2348F", (120, 56), 252, (8, 4)),
    )


def _even(value: float) -> int:
    """Round to an even number: chroma, stored for every second pixel, then stays under its tile."""
    return max(2, round(value / 2) * 2)


def make_clip(
    path: Path,
    frames: int = 90,
    width: int = WIDTH,
    height: int = HEIGHT,
    *,
    on_frame: Callable[[int], None] = lambda done: None,
) -> None:
    """Write the clip as H.264 with B-frames, 30 frames a second.

    Args:
        path: an .mp4 file, which is overwritten.
        width, height: even, at least 64 x 64.
        on_frame: called with the number of frames made so far.

    Raises:
        DemoError: this FFmpeg cannot encode H.264.
        ValueError: the size is not allowed.
    """
    if width % 2 or height % 2 or min(width, height) < 64:
        raise ValueError(f"a clip must have an even size of at least 64x64, not {width}x{height}")
    graph = _graph(width, height)
    with av.open(path, "w") as container:
        try:
            # x264 would use few B-frames in such a clip; this makes three of four frames B-frames.
            options = {"preset": "veryfast", "bf": "3", "b_strategy": "0"}
            stream = container.add_stream("libx264", rate=RATE, options=options)
        except av.codec.codec.UnknownCodecError:
            raise DemoError(
                "this build of PyAV has no libx264 to make a test clip with: give a video with "
                "--input, or install PyAV's wheel (pip install av)"
            ) from None
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for index in range(frames):
            frame = graph.vpull()
            frame.pts, frame.time_base = index, Fraction(1, RATE)
            # The sources mark each frame as an I-frame, and the encoder would make it one.
            frame.pict_type = PictureType.NONE
            container.mux(stream.encode(frame))
            on_frame(index + 1)
        container.mux(stream.encode(None))


def _graph(width: int, height: int) -> Graph:
    graph = Graph()
    picture = _grid(graph, "0x1B2838", (width, height), "w=40:h=40:t=1:c=0x2A3F57")
    for tile in tiles(width, height):
        moving = _grid(graph, tile.colour, (tile.width, tile.height), "w=12:h=12:t=4:c=0xF4F1DE")
        where = f"x='{tile.x.expression}':y='{tile.y.expression}':eval=frame:format=yuv420"
        overlay = graph.add("overlay", where)
        picture.link_to(overlay, 0, 0)
        moving.link_to(overlay, 0, 1)
        picture = overlay
    pixels = graph.add("format", "yuv420p")
    sink = graph.add("buffersink")
    picture.link_to(pixels)
    pixels.link_to(sink)
    graph.configure()
    return graph


def _grid(graph: Graph, colour: str, size: tuple[int, int], lines: str) -> FilterContext:
    source = graph.add("color", f"c={colour}:s={size[0]}x{size[1]}:r={RATE}")
    grid = graph.add("drawgrid", lines)
    source.link_to(grid)
    return grid
