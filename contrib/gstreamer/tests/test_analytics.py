# SPDX-License-Identifier: Apache-2.0
"""Results of GstAnalytics, as far as any version of GStreamer shows it.

analytics_checks.py has what needs GStreamer 1.26.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gi.repository import GLib

import samebytes as sb
import samebytes_gstreamer as sbg
from samebytes import Region, metadata
from samebytes.errors import MetadataError, MissingDependencyError, UnknownNameError
from samebytes.metadata import KEY, Classification, ObjectId
from samebytes_gstreamer._metadata.analytics import functions, labels, merged_regions, writing
from samebytes_gstreamer._metadata.metas import metas_of


@pytest.fixture
def without_analytics(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A GStreamer from before 1.24, whatever is installed."""

    def load(name: str, _: Any, hint: str) -> Any:
        raise MissingDependencyError("gstreamer", name, hint)

    monkeypatch.setattr(functions, "load", load)
    functions.analytics.cache_clear()
    functions.oriented.cache_clear()
    functions.segmentation.cache_clear()
    yield
    functions.analytics.cache_clear()
    functions.oriented.cache_clear()
    functions.segmentation.cache_clear()


@pytest.mark.usefixtures("without_analytics")
@pytest.mark.parametrize("way", ["analytics", "both"])
def test_an_older_gstreamer_says_what_is_missing(way: Any) -> None:
    with pytest.raises(MissingDependencyError, match=r"libgstanalytics-1\.0\.so\.0.*1\.24"):
        sbg.write_regions_as(way)


@pytest.mark.usefixtures("without_analytics")
def test_an_older_gstreamer_has_the_old_metas() -> None:
    frame = sb.frame(np.zeros((48, 64), np.uint8), format="GRAY8")
    frame.regions.append(Region(1, 2, 3, 4, "car", 0.5))
    buffer = frame.map("gstreamer").native
    metas = metas_of(hash(buffer))
    assert (len(metas.regions), metas.analytics) == (1, None)


def test_another_way_to_write_regions_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="analytics"):
        sbg.write_regions_as("json")  # type: ignore[arg-type]  # that is the test


def test_a_program_can_ask_for_the_old_metas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_way", ["analytics"])
    sbg.write_regions_as("regions")
    frame = sb.frame(np.zeros((48, 64), np.uint8), format="GRAY8")
    frame.regions.append(Region(1, 2, 3, 4, "car", 0.5))
    buffer = frame.map("gstreamer").native
    metas = metas_of(hash(buffer))
    assert (len(metas.regions), metas.analytics) == (1, None)


@pytest.mark.parametrize(
    ("box", "label", "confidence", "same"),
    [
        ((10, 20, 30, 40), "car", 0.5, True),
        ((11, 19, 31, 39), "car", 0.5 + 5e-7, True),
        ((12, 20, 30, 40), "car", 0.5, False),
        ((10, 20, 30, 42), "car", 0.5, False),
        ((10, 20, 30, 40), "bus", 0.5, False),
        ((10, 20, 30, 40), "car", 0.5 + 3e-6, False),
        ((11, 20, 30, 40), "car", None, True),  # elements that scale drop it
        ((12, 20, 30, 40), "car", None, False),
    ],
)
def test_a_detection_in_both_metas_shows_once(
    box: tuple[int, int, int, int], label: str, confidence: float | None, same: bool
) -> None:
    new = Region(10, 20, 30, 40, "car", 0.5, {"id": 0})
    old = Region(*box, label, confidence, {"id": 7, "params": [{"name": "detection"}]})
    found = merged_regions([new], [old])
    assert len(found) == (1 if same else 2)
    assert found[0].box == (10, 20, 30, 40)
    assert found[0].metadata["id"] == (7 if same else 0)


def test_an_old_meta_is_one_detection_at_most() -> None:
    new = [Region(10, 20, 30, 40, "car", 0.5, {"id": n}) for n in range(2)]
    found = merged_regions(new, [Region(10, 20, 30, 40, "car", 0.5, {"id": 7})])
    assert [region.metadata["id"] for region in found] == [7, 1]


def test_the_nearest_old_meta_is_the_same_detection() -> None:
    new = [Region(x, 20, 30, 40, "car", 0.5, {"id": x}) for x in (1, 2)]
    old = [Region(x, 20, 30, 40, "car", 0.5, {"id": 70 + x}) for x in (2, 1)]
    assert [region.metadata["id"] for region in merged_regions(new, old)] == [71, 72]
    new = [Region(x, 20, 30, 40, "car", 0.5, {"id": x}) for x in (1, 2)]
    old[1].x = 0
    assert [region.metadata["id"] for region in merged_regions(new, old)] == [71, 72]


def test_relations_count_where_nobody_set_the_numbers_of_old_metas() -> None:
    new = [Region(n, n, 3, 4, "car", n / 8, {"id": n}) for n in range(3)]
    new[2].metadata["parent_id"] = 1
    old = [Region(n, n, 3, 4, "car", n / 8) for n in range(3)]
    found = merged_regions(new, old)
    assert [region.metadata for region in found] == [
        {"id": 0},
        {"id": 1},
        {"id": 2, "parent_id": 1},
    ]


def test_the_parent_of_a_relation_has_the_number_of_its_old_meta() -> None:
    new = [Region(n, n, 3, 4, "car", 0.5, {"id": n}) for n in range(2)]
    new[1].metadata["parent_id"] = 0
    found = merged_regions(new, [Region(0, 0, 3, 4, "car", 0.5, {"id": 77})])
    assert [region.metadata for region in found] == [{"id": 77}, {"id": 1, "parent_id": 77}]


def test_entries_of_both_metas_show_once() -> None:
    new = Region(0, 0, 8, 8, "car", 0.5, {KEY: [Classification("red", 0.75), ObjectId(3)]})
    colour = Classification("red", 0.75, 4, "color")
    old = Region(0, 0, 8, 8, "car", 0.5, {KEY: [colour]})
    [region] = merged_regions([new], [old])
    assert region.metadata[KEY] == [colour, ObjectId(3)]


@pytest.mark.parametrize(
    ("label", "text"),
    [("Zürich", "Zürich".encode()), ("caf\udce9", b"caf\xe9"), ("a\0b", b"a"), ("\ud800", b"?")],
)
def test_labels_are_bytes(label: str, text: bytes) -> None:
    assert labels.bytes_of(label) == text


def test_labels_of_data_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "MOST_LABELS", len(labels._quarks) + 3)
    monkeypatch.setattr(labels, "_warned", [])
    with pytest.warns(RuntimeWarning, match="different labels") as warned:
        found = [labels.quark_of(f"bounded label {n}") for n in range(10)]
    assert [quark != 0 for quark in found] == [True] * 3 + [False] * 7
    assert labels.label_of(found[0]) == "bounded label 0"
    assert len(warned) == 1


def test_a_region_with_a_label_of_any_bytes_is_written() -> None:
    frame = sb.frame(np.zeros((48, 64), np.uint8), format="GRAY8")
    frame.regions.append(Region(1, 2, 3, 4, "caf\udce9", 0.5))
    again = sb.frame(frame.map("gstreamer").native)
    assert again.regions[0].label == "caf\udce9"


def test_further_labels_are_interned_in_neither_meta(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "MOST_LABELS", len(labels._quarks))
    monkeypatch.setattr(labels, "_warned", [b""])
    frame = sb.frame(np.zeros((48, 64), np.uint8), format="GRAY8")
    frame.regions.append(Region(1, 2, 3, 4, "a label beyond the bound", 0.5))
    buffer = frame.map("gstreamer").native
    assert [meta.roi_type for meta in metas_of(hash(buffer)).regions] == [0]
    assert not GLib.quark_try_string("a label beyond the bound")
    again = sb.frame(buffer)
    assert [region.label for region in again.regions] == ["a label beyond the bound"]
    again.regions[0].label = "another beyond it"
    [region] = sb.frame(again.map("cpu").map("gstreamer").native).regions
    assert region.label == "another beyond it"


def test_classes_with_labels_of_any_bytes_are_written() -> None:
    frame = sb.frame(np.zeros((48, 64), np.uint8), format="GRAY8")
    metadata.add(frame, Classification("caf\udce9", 0.5))
    [found] = metadata.all_of(sb.frame(frame.map("gstreamer").native), Classification)
    assert found.label in ("caf\udce9", "caf?")  # structures, before 1.24, have no such bytes


@pytest.mark.parametrize(
    "said",
    [
        {"parent_id": [1]},
        {"id": "x", "parent_id": "y"},
        {"id": 2**70, "parent_id": 2**70},
        {"oriented_box": (1, 2, 3, 4, float("nan"))},
        {"oriented_box": (1, 2, -3, -4, 0.5)},
        {"oriented_box": "turned", "params": "none"},
    ],
)
def test_a_region_with_any_metadata_keeps_its_box(said: dict[str, Any]) -> None:
    frame = sb.frame(np.zeros((48, 64), np.uint8), format="GRAY8")
    frame.regions.append(Region(1, 2, 3, 4, "car", 0.5, said))
    [region] = sb.frame(frame.map("gstreamer").native).regions
    assert region.box == (1, 2, 3, 4)


def test_a_box_between_pixels_is_left_out() -> None:
    frame = sb.frame(np.zeros((48, 64), np.uint8), format="GRAY8")
    frame.regions.extend([Region(1, 2, 3, 4, "car", 0.5), Region(5, 6, 7, 8, "bus", 0.5)])
    frame.regions[0].x = 1.5  # type: ignore[assignment]  # that is the test
    assert [r.label for r in sb.frame(frame.map("gstreamer").native).regions] == ["bus"]


@pytest.mark.parametrize(
    "values",
    [
        {"mask": np.zeros((4, 4), np.float32)},
        {"mask": np.zeros((4,), np.uint8)},
        {"ids": [-1]},
        {"labels": ["one", "two"]},
        {"labels": [1]},
        {"box": (0.0, 0.0, float("nan"), 1.0)},
    ],
)
def test_what_no_segmentation_can_be_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(MetadataError, match=next(iter(values))):
        sbg.Segmentation(**{"mask": np.zeros((4, 4), np.uint8), "ids": [1], **values})
