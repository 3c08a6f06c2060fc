# SPDX-License-Identifier: Apache-2.0
"""Results of GstAnalytics, as far as any version of GStreamer shows it.

analytics_checks.py has what needs GStreamer 1.26.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes_gstreamer as sbg
from samebytes import Region
from samebytes.errors import MetadataError, MissingDependencyError, UnknownNameError
from samebytes.metadata import KEY, Classification, ObjectId
from samebytes_gstreamer._analytics import functions, labels, merged_regions, writing
from samebytes_gstreamer._metas import metas_of


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
        ((10, 20, 30, 40), "car", None, False),
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
