# SPDX-License-Identifier: Apache-2.0
"""Channel layouts of sound: the loudspeaker of each channel, in the order of memory.

Channels and layouts have FFmpeg's names (libavutil/channel_layout.c).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

__all__ = ["CHANNELS", "channel_layout", "channel_names"]

CHANNELS = (
    "FL", "FR", "FC", "LFE", "BL", "BR", "FLC", "FRC", "BC", "SL", "SR", "TC", "TFL", "TFC", "TFR",
    "TBL", "TBC", "TBR", "DL", "DR", "WL", "WR", "SDL", "SDR", "LFE2", "TSL", "TSR", "BFC", "BFL",
    "BFR", "SSL", "SSR", "TTL", "TTR", "BIL", "BIR",
)  # fmt: skip
"""Names of channels: front left, front right, front centre, low frequency, back left ..."""

_LAYOUTS = {
    "mono": "FC",
    "stereo": "FL+FR",
    "2.1": "FL+FR+LFE",
    "3.0": "FL+FR+FC",
    "3.0(back)": "FL+FR+BC",
    "4.0": "FL+FR+FC+BC",
    "quad": "FL+FR+BL+BR",
    "quad(side)": "FL+FR+SL+SR",
    "3.1": "FL+FR+FC+LFE",
    "5.0": "FL+FR+FC+BL+BR",
    "5.0(side)": "FL+FR+FC+SL+SR",
    "4.1": "FL+FR+FC+LFE+BC",
    "5.1": "FL+FR+FC+LFE+BL+BR",
    "5.1(side)": "FL+FR+FC+LFE+SL+SR",
    "6.0": "FL+FR+FC+BC+SL+SR",
    "6.0(front)": "FL+FR+FLC+FRC+SL+SR",
    "3.1.2": "FL+FR+FC+LFE+TFL+TFR",
    "hexagonal": "FL+FR+FC+BL+BR+BC",
    "6.1": "FL+FR+FC+LFE+BC+SL+SR",
    "6.1(back)": "FL+FR+FC+LFE+BL+BR+BC",
    "6.1(front)": "FL+FR+LFE+FLC+FRC+SL+SR",
    "7.0": "FL+FR+FC+BL+BR+SL+SR",
    "7.0(front)": "FL+FR+FC+FLC+FRC+SL+SR",
    "7.1": "FL+FR+FC+LFE+BL+BR+SL+SR",
    "7.1(wide)": "FL+FR+FC+LFE+BL+BR+FLC+FRC",
    "7.1(wide-side)": "FL+FR+FC+LFE+FLC+FRC+SL+SR",
    "5.1.2": "FL+FR+FC+LFE+SL+SR+TFL+TFR",
    "5.1.2(back)": "FL+FR+FC+LFE+BL+BR+TFL+TFR",
    "octagonal": "FL+FR+FC+BL+BR+BC+SL+SR",
    "cube": "FL+FR+BL+BR+TFL+TFR+TBL+TBR",
    "5.1.4": "FL+FR+FC+LFE+SL+SR+TFL+TFR+TBL+TBR",
    "7.1.2": "FL+FR+FC+LFE+BL+BR+SL+SR+TFL+TFR",
    "7.1.4": "FL+FR+FC+LFE+BL+BR+SL+SR+TFL+TFR+TBL+TBR",
    "7.2.3": "FL+FR+FC+LFE+BL+BR+SL+SR+TFL+TFR+TBC+LFE2",
    "9.1.4": "FL+FR+FC+LFE+BL+BR+FLC+FRC+SL+SR+TFL+TFR+TBL+TBR",
    "9.1.6": "FL+FR+FC+LFE+BL+BR+FLC+FRC+SL+SR+TFL+TFR+TBL+TBR+TSL+TSR",
    "hexadecagonal": "FL+FR+FC+BL+BR+BC+SL+SR+TFL+TFC+TFR+TBL+TBC+TBR+WL+WR",
    "binaural": "BIL+BIR",
    "downmix": "DL+DR",
    "22.2": "FL+FR+FC+LFE+BL+BR+FLC+FRC+BC+SL+SR+TC+TFL+TFC+TFR+TBL+TBC+TBR+LFE2+TSL+TSR"
    "+BFC+BFL+BFR",
}

_KNOWN = frozenset(CHANNELS)
# FFmpeg's description of a layout without a name: "3 channels (FL+FR+LFE2)".
_DESCRIBED = re.compile(r"\d+ channels? \((.+)\)")


@lru_cache(maxsize=256)
def channel_names(layout: str | None) -> tuple[str, ...] | None:
    """The channels of a layout, in the order of memory.

    Args:
        layout: a name ("5.1"), or the names of channels, joined ("FL+FR+LFE2").

    Returns None for a layout that does not name its channels (None, "3 channels"), or that is not
    known (ambisonics).
    """
    if layout is None:
        return None
    described = _DESCRIBED.fullmatch(layout)
    names = tuple((described[1] if described else _LAYOUTS.get(layout, layout)).split("+"))
    return names if _KNOWN.issuperset(names) else None


def channel_layout(names: Sequence[str]) -> str:
    """The layout of channels that lie in this order: its name, or else the joined names.

    Args:
        names: of the channels, as in CHANNELS, in their order in memory.
    """
    joined = "+".join(names)
    return _names_of_layouts().get(joined, joined)


@cache
def _names_of_layouts() -> dict[str, str]:
    return {channels: name for name, channels in _LAYOUTS.items()}
