# SPDX-License-Identifier: Apache-2.0
"""Conversion between GStreamer's channel masks, which name loudspeakers, and channel layouts."""

from __future__ import annotations

from collections.abc import Sequence

from samebytes import AudioInfo
from samebytes.errors import LayoutError
from samebytes.formats import channel_layout, channel_names

__all__ = ["channel_mask", "layout_of_positions"]

_POSITIONS = (
    "FL", "FR", "FC", "LFE", "BL", "BR", "FLC", "FRC", "BC", "LFE2", "SL", "SR", "TFL", "TFR",
    "TFC", "TC", "TBL", "TBR", "TSL", "TSR", "TBC", "BFC", "BFL", "BFR", "WL", "WR", "SDL", "SDR",
)  # fmt: skip
"""GstAudioChannelPosition of gst/audio/audio-channels.h, from 0 on.

In a buffer, channels lie in this order. FFmpeg's order differs: TFC before TFR, LFE2 after TBR.
"""
_MONO = -2


def layout_of_positions(positions: Sequence[int]) -> str | None:
    """The layout of the positions of a GstAudioInfo; None if they are for no loudspeakers."""
    if list(positions) == [_MONO]:
        return "mono"
    if not positions or not all(0 <= position < len(_POSITIONS) for position in positions):
        return None
    return channel_layout([_POSITIONS[position] for position in positions])


def channel_mask(info: AudioInfo) -> int | None:
    """The "channel-mask" of caps; None for one channel, which needs none.

    Two channels without a layout are stereo, here as in FFmpeg. 0 is for channels without a
    particular loudspeaker, or with one that GStreamer lacks.

    Raises:
        LayoutError: the channels lie in another order than GStreamer's.
    """
    layout = info.channel_layout or {1: "mono", 2: "stereo"}.get(info.channels)
    names = channel_names(layout)
    if names is not None and len(names) != info.channels:
        raise LayoutError(
            f"the layout {layout!r} has {len(names)} channels, but the samples have {info.channels}"
        )
    if names == ("FC",):
        return None
    if names is None or not set(names).issubset(_POSITIONS):
        return 0
    numbers = [_POSITIONS.index(name) for name in names]
    if numbers != sorted(set(numbers)):
        wanted = "+".join(_POSITIONS[number] for number in sorted(set(numbers)))
        raise LayoutError(
            f"the channels are in the order {'+'.join(names)}, but GStreamer takes {wanted}: "
            "reorder them, which copies"
        )
    return sum(1 << number for number in numbers)
