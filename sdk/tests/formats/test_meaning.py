# SPDX-License-Identifier: Apache-2.0
"""Names of what the numbers in a frame mean: colours, fields, loudspeakers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import (
    CHANNELS,
    CHROMA_LOCATIONS,
    COLOR_MATRICES,
    COLOR_PRIMARIES,
    COLOR_RANGES,
    COLOR_TRANSFERS,
    MASTERING_PRIMARIES,
    ROTATIONS,
    Colorimetry,
    channel_layout,
    channel_names,
    content_light_of,
    duration_of,
    field_order_of,
    length_of,
    mastering_display_of,
    mirrored_of,
    repeat_fields_of,
    rotation_of,
    sample_aspect_of,
)

# key: table, argument of from_code_points
TABLES = {
    "color_primaries": (COLOR_PRIMARIES, "primaries"),
    "color_transfer": (COLOR_TRANSFERS, "transfer"),
    "color_matrix": (COLOR_MATRICES, "matrix"),
    "chroma_location": (CHROMA_LOCATIONS, "chroma_location"),
    "color_range": (COLOR_RANGES, "full_range"),
}


@pytest.mark.parametrize("key", TABLES)
def test_every_name_and_its_code_point(key: str) -> None:
    table, argument = TABLES[key]
    assert len(set(table.values())) == len(table)
    for name, code in table.items():
        colors = Colorimetry.of({key: name, "other": 3})
        assert colors.entries() == {key: name}
        arguments: dict[str, Any] = {argument: code}
        assert Colorimetry.from_code_points(**arguments) == colors
    for code in (2, 3, 255) if argument not in ("full_range", "chroma_location") else ():
        arguments = {argument: code}
        assert Colorimetry.from_code_points(**arguments) == Colorimetry()


@pytest.mark.parametrize("key", TABLES)
def test_names_that_are_not_in_a_table(key: str) -> None:
    for wrong in ("nonsense", "", 1, b"bt709", ["bt709"]):
        with pytest.raises(UnknownNameError, match=key):
            Colorimetry.of({key: wrong})
    assert Colorimetry.of({key: None}) == Colorimetry()


def test_entries_about_time_and_fields() -> None:
    assert (field_order_of({}), repeat_fields_of({})) == (None, None)
    assert (duration_of({}), sample_aspect_of({})) == (None, None)
    for order in ("progressive", "top", "bottom"):
        assert field_order_of({"field_order": order}) == order
    assert repeat_fields_of({"repeat_fields": 2}) == 2
    assert duration_of({"duration": 1}) == 1
    assert duration_of({"duration": Fraction(0)}) == 0
    assert sample_aspect_of({"sample_aspect_ratio": Fraction(4, 3)}) == Fraction(4, 3)


@pytest.mark.parametrize(
    ("duration", "time_base", "length"),
    [
        (Fraction(1, 50), Fraction(1, 25), Fraction(1, 50)),
        (Fraction(1, 500), None, Fraction(1, 500)),
        (None, Fraction(1001, 30000), Fraction(1001, 30000)),
        (0, Fraction(1, 240), Fraction(1, 240)),
        (None, Fraction(5), Fraction(5)),
        (None, Fraction(1, 241), None),
        (None, Fraction(1, 90000), None),
        (0, None, None),
    ],
)
def test_the_length_of_a_frame(
    duration: Fraction | int | None, time_base: Fraction | None, length: Fraction | None
) -> None:
    assert length_of({"duration": duration}, time_base) == length


LUMINANCE = {"min_luminance": 0.0001, "max_luminance": 1000}


def test_entries_about_upright_pictures_and_high_dynamic_range() -> None:
    assert (rotation_of({}), mirrored_of({})) == (None, None)
    assert (mastering_display_of({}), content_light_of({})) == (None, None)
    assert [rotation_of({"rotation": n}) for n in ROTATIONS] == list(ROTATIONS)
    assert mirrored_of({"mirrored": True}) is True
    primaries = dict.fromkeys(MASTERING_PRIMARIES, Fraction(1, 3))
    for display in (LUMINANCE, primaries, {**primaries, **LUMINANCE}):
        found = mastering_display_of({"mastering_display": display})
        assert found is not None
        assert found.keys() == display.keys()
    assert mastering_display_of({"mastering_display": LUMINANCE}) == {
        "min_luminance": Fraction(1, 10000), "max_luminance": 1000,
    }  # fmt: skip
    levels = {"max": 1000, "average": 0}
    assert content_light_of({"content_light": levels}) == levels


@pytest.mark.parametrize(
    ("read", "key", "values"),
    [
        (field_order_of, "field_order", ("tff", 1, "")),
        (repeat_fields_of, "repeat_fields", (-1, True, 1.0, 2**31, "1")),
        (duration_of, "duration", (-1, Fraction(-1, 2), 0.04, True, "1")),
        (sample_aspect_of, "sample_aspect_ratio", (0, -1, 1.5, "4:3", True)),
        (rotation_of, "rotation", (45, -90, 360, True, False, "90", 90.0)),
        (mirrored_of, "mirrored", (0, 1, "yes")),
        (
            mastering_display_of,
            "mastering_display",
            (
                (),
                "G(1,2)",
                {},
                {"red_x": 1},
                {**LUMINANCE, "red_x": 1},
                {"min_luminance": "1", "max_luminance": 1},
                {"min_luminance": -1, "max_luminance": 1},
                {"min_luminance": float("nan"), "max_luminance": 1},
                dict.fromkeys(MASTERING_PRIMARIES, 2),
            ),
        ),
        (
            content_light_of,
            "content_light",
            ((1, 2), {"max": 1}, {"max": 1, "average": 2**16}, {"max": 1.5, "average": 1}),
        ),
    ],
)
def test_entries_that_are_something_else(read: Any, key: str, values: tuple[Any, ...]) -> None:
    for value in values:
        with pytest.raises((LayoutError, UnknownNameError), match=key):
            read({key: value})


def test_layouts_of_channels() -> None:
    assert channel_names("5.1") == ("FL", "FR", "FC", "LFE", "BL", "BR")
    assert channel_names("FL+FR+LFE2") == ("FL", "FR", "LFE2")
    assert channel_names("3 channels (FL+FR+LFE2)") == ("FL", "FR", "LFE2")
    assert channel_names("1 channel (FC)") == ("FC",)
    for unknown in (None, "", "3 channels", "ambisonic 1", "FL+nowhere", "FL+"):
        assert channel_names(unknown) is None
    assert channel_layout(["FL", "FR"]) == "stereo"
    assert channel_layout(["FR", "FL"]) == "FR+FL"
    assert len(set(CHANNELS)) == len(CHANNELS)
