# SPDX-License-Identifier: Apache-2.0
"""Colorimetry: the colours that the numbers of a picture stand for, in the terms of ITU-T H.273.

The names are those of FFmpeg (libavutil/pixdesc.c), the numbers the code points of H.273, which
containers and bitstreams carry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from samebytes._frozen import frozen
from samebytes.errors import UnknownNameError

__all__ = [
    "CHROMA_LOCATIONS",
    "COLOR_MATRICES",
    "COLOR_PRIMARIES",
    "COLOR_RANGES",
    "COLOR_TRANSFERS",
    "Colorimetry",
    "unknown_color_name",
]

COLOR_PRIMARIES: Mapping[str, int] = {
    "bt709": 1,
    "bt470m": 4,
    "bt470bg": 5,
    "smpte170m": 6,
    "smpte240m": 7,
    "film": 8,
    "bt2020": 9,
    "smpte428": 10,
    "smpte431": 11,
    "smpte432": 12,
    "ebu3213": 22,
}
"""ColourPrimaries, H.273 table 2."""

COLOR_TRANSFERS: Mapping[str, int] = {
    "bt709": 1,
    "bt470m": 4,
    "bt470bg": 5,
    "smpte170m": 6,
    "smpte240m": 7,
    "linear": 8,
    "log100": 9,
    "log316": 10,
    "iec61966-2-4": 11,
    "bt1361e": 12,
    "iec61966-2-1": 13,
    "bt2020-10": 14,
    "bt2020-12": 15,
    "smpte2084": 16,
    "smpte428": 17,
    "arib-std-b67": 18,
}
"""TransferCharacteristics, H.273 table 3."""

COLOR_MATRICES: Mapping[str, int] = {
    "gbr": 0,
    "bt709": 1,
    "fcc": 4,
    "bt470bg": 5,
    "smpte170m": 6,
    "smpte240m": 7,
    "ycgco": 8,
    "bt2020nc": 9,
    "bt2020c": 10,
    "smpte2085": 11,
    "chroma-derived-nc": 12,
    "chroma-derived-c": 13,
    "ictcp": 14,
    "ipt-c2": 15,
    "ycgco-re": 16,
    "ycgco-ro": 17,
}
"""MatrixCoefficients, H.273 table 4: how YUV becomes RGB."""

COLOR_RANGES: Mapping[str, int] = {"limited": 0, "full": 1}
"""VideoFullRangeFlag, H.273 clause 8.3. Luma of eight bits is from 16 to 235, or from 0 to 255."""

CHROMA_LOCATIONS: Mapping[str, int] = {
    "left": 0,
    "center": 1,
    "topleft": 2,
    "top": 3,
    "bottomleft": 4,
    "bottom": 5,
}
"""Chroma420SampleLocType, H.273 clause 8.7: where chroma samples lie between those of luma."""

_TABLES = {
    "color_range": COLOR_RANGES,
    "color_primaries": COLOR_PRIMARIES,
    "color_transfer": COLOR_TRANSFERS,
    "color_matrix": COLOR_MATRICES,
    "chroma_location": CHROMA_LOCATIONS,
}

# The matrices that the number of a recommendation stands for, in any spelling: BT.601.
_RECOMMENDATIONS = {
    "601": ("smpte170m", "bt470bg"),
    "709": ("bt709",),
    "2020": ("bt2020nc", "bt2020c"),
}


@frozen()
class Colorimetry:
    """The colours that the numbers of a picture stand for. None: not specified.

    Each attribute has the name of the entry of `frame.metadata` that holds it.

    Attributes:
        color_range: "limited" or "full".
        color_primaries: a name in COLOR_PRIMARIES.
        color_transfer: a name in COLOR_TRANSFERS.
        color_matrix: a name in COLOR_MATRICES. Pictures of RGB have none.
        chroma_location: a name in CHROMA_LOCATIONS.
    """

    color_range: str | None = None
    color_primaries: str | None = None
    color_transfer: str | None = None
    color_matrix: str | None = None
    chroma_location: str | None = None

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Colorimetry:
        """The colorimetry that `frame.metadata` describes.

        Args:
            metadata: the metadata of a frame.

        Raises:
            UnknownNameError: an entry has a name that is not in its table.
        """
        found: dict[str, str] = {}
        for key, table in _TABLES.items():
            value = metadata.get(key)
            if value is None:
                continue
            if not isinstance(value, str) or value not in table:
                raise unknown_color_name(f"metadata[{key!r}]", str(value), table)
            found[key] = value
        return cls(**found)

    @classmethod
    def from_code_points(
        cls,
        *,
        full_range: bool | None = None,
        primaries: int | None = None,
        transfer: int | None = None,
        matrix: int | None = None,
        chroma_location: int | None = None,
    ) -> Colorimetry:
        """The colorimetry of H.273's numbers.

        Those without a name (2, unspecified, and reserved) are None.

        Args:
            full_range: VideoFullRangeFlag.
            primaries, transfer, matrix: ColourPrimaries, TransferCharacteristics,
                MatrixCoefficients.
            chroma_location: Chroma420SampleLocType.
        """
        return cls(
            None if full_range is None else "full" if full_range else "limited",
            _name(COLOR_PRIMARIES, primaries),
            _name(COLOR_TRANSFERS, transfer),
            _name(COLOR_MATRICES, matrix),
            _name(CHROMA_LOCATIONS, chroma_location),
        )

    def entries(self) -> dict[str, str]:
        """The attributes that are specified, as entries for `frame.metadata`."""
        values = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: value for name, value in values if value is not None}


def unknown_color_name(kind: str, name: str, known: Mapping[str, int]) -> UnknownNameError:
    """Return the error for a name that is not in one of the tables here.

    Args:
        kind: the kind of name that was looked up.
        name: the name that was not found.
        known: the table.
    """
    meant = known is COLOR_MATRICES and re.search("|".join(_RECOMMENDATIONS), name)
    nearest = _RECOMMENDATIONS[meant[0]] if meant else None
    return UnknownNameError(kind, name, known, nearest=nearest)


def _name(table: Mapping[str, int], number: int | None) -> str | None:
    return next((name for name, code in table.items() if code == number), None)
