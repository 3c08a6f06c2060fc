# SPDX-License-Identifier: Apache-2.0
"""Frame.convert: who converts, into which memory, with which metadata, and what is refused."""

from __future__ import annotations

import gc
import importlib
import re
import weakref
from fractions import Fraction
from pathlib import Path
from threading import Barrier, Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import Region, metadata
from samebytes.errors import LayoutError, UnknownNameError, UnsupportedObjectError
from samebytes.metadata import AffineTransform, Classification, Detection, ObjectId
from samebytes.testing import assert_no_garbage

if TYPE_CHECKING:
    from sdk.tests.conftest import Site


def picture(format_: str = "I420", width: int = 64, height: int = 48, **says: Any) -> sb.Frame[Any]:
    frame = sb.context("cpu").allocate_frame(format_, width, height, **says)
    for plane in frame:
        plane.native[...] = 7
    return frame


def flags_at(address: int) -> list[str]:
    """The flags that /proc/self/smaps has for the memory at an address."""
    there = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split()
        if "-" in first:
            begin, end = (int(number, 16) for number in first.split("-"))
            there = begin <= address < end
        elif there and first == "VmFlags:":
            return rest
    raise LookupError(hex(address))


@pytest.mark.usefixtures("alpha")
class TestTheNewFrame:
    def test_it_is_another_picture_in_memory_of_its_own(self) -> None:
        made = picture().convert(format="RGB24", width=32, height=20)
        assert (made.format.name, made.width, made.height) == ("RGB", 32, 20)
        assert (made.context, made.parent, made.readonly) == (sb.context("cpu"), None, False)
        assert (made[0].native == 7).all()

    def test_the_size_stays_where_none_is_given(self) -> None:
        assert (picture().convert("NV12").width, picture().convert("NV12").height) == (64, 48)
        assert (picture().convert("NV12", 32).width, picture().convert("NV12", 32).height) == (
            32,
            48,
        )
        assert picture().convert("NV12", height=24).height == 24

    def test_it_does_not_hold_the_frame_that_it_was_made_of(self) -> None:
        frame = picture()
        held = weakref.ref(frame.storage)
        made = frame.convert("RGB24")
        del frame
        assert held() is None
        assert (made[0].native == 7).all()

    def test_memory_is_used_again_when_nobody_holds_it(self) -> None:
        frame = picture()
        places = set()
        for _ in range(5):
            made = frame.convert("RGB24")
            places.add(made[0].handle())
            del made
        assert len(places) == 1

    def test_a_kept_array_does_not_change(self) -> None:
        frame = picture()
        kept = frame.convert("RGB24")[0].native
        frame[0].native[...] = 9
        others = [frame.convert("RGB24") for _ in range(12)]
        assert (kept == 7).all()
        assert all((one[0].native == 9).all() for one in others)
        assert len({one[0].handle() for one in others}) == 12

    def test_what_is_beyond_the_pool_works_alike(self) -> None:
        frame = picture()
        many = [frame.convert("GRAY8", width, 8) for width in range(8, 30) for _ in range(10)]
        assert all((one[0].native == 7).all() for one in many)

    def test_where_nothing_is_to_change_it_is_a_mapping(self) -> None:
        frame = picture()
        same = frame.convert("yuv420p", 64, 48, color_range="limited")
        assert same[0].handle() == frame[0].handle()
        assert (same.parent, same.readonly, same.meta) == (frame, True, frame.meta)
        assert sb.stats().conversions == 0

    @pytest.mark.skipif(
        not Path("/sys/kernel/mm/transparent_hugepage").exists(),
        reason="needs a kernel with pages of 2 MiB",
    )
    def test_the_system_is_asked_for_large_pages_where_they_are_filled(self) -> None:
        """Flags of a mapping: "hg" is MADV_HUGEPAGE (Linux, filesystems/proc.rst)."""
        large = picture(width=1280, height=720).convert("RGB24")
        full = picture(width=1280, height=1080).convert("RGB24")  # 1.98 pages
        small = picture(width=640, height=360).convert("RGB24")
        assert large[0].handle() % (2 << 20) == 0
        assert "hg" in flags_at(large[0].handle())
        assert "hg" not in flags_at(large[0].handle() + 1280 * 720 * 3 - 1)  # 0.6 of a page
        assert "hg" in flags_at(full[0].handle() + 1280 * 1080 * 3 - 1)
        assert "hg" not in flags_at(small[0].handle())
        assert (large[0].native == 7).all()

    def test_rows_have_room_where_the_converter_wants_it(self) -> None:
        conversions = importlib.import_module("alpha_conversions")
        conversions.Fill.row_padding = 10
        made = picture().convert("RGB24", 33, 5)
        assert made[0].native.shape == (5, 33, 3)
        assert made[0].native.strides == (128, 3, 1)


@pytest.mark.usefixtures("alpha")
class TestCounting:
    def test_each_is_counted_and_is_not_a_copy(self) -> None:
        picture().convert("RGB24", 32, 20)
        picture().convert("RGB24", 16, 10)
        stats = sb.stats()
        assert (stats.copies, stats.copied_bytes) == (0, 0)
        nbytes = 3 * (32 * 20 + 16 * 10)
        assert (stats.conversions, stats.converted_bytes) == (2, nbytes)
        assert [*stats.by_conversion] == ["I420 -> RGB (alpha)"]
        counted = stats.by_conversion["I420 -> RGB (alpha)"]
        assert (counted.copies, counted.nbytes) == (2, nbytes)
        sb.reset_stats()
        assert sb.stats().conversions == 0


@pytest.mark.usefixtures("alpha")
class TestMetadata:
    def test_what_a_scaled_picture_keeps(self) -> None:
        frame = picture(
            pts=3,
            time_base=Fraction(1, 25),
            duration=Fraction(1, 25),
            metadata={"sample_aspect_ratio": Fraction(1), "rotation": 90, "mine": [1]},
        )
        frame.regions.append(Region(8, 12, 16, 24, "cat", metadata={"params": {}}))
        metadata.add(frame, Classification("street"))
        metadata.add(frame, AffineTransform((0.5, 0, 0, 0, 0.5, 0)))
        metadata.add(frame.regions[0], ObjectId(4))
        made = frame.convert("RGB24", 32, 48)
        assert (made.pts, made.meta.time_base) == (3, Fraction(1, 25))
        assert made.metadata["duration"] == Fraction(1, 25)
        assert made.metadata["sample_aspect_ratio"] == Fraction(2)
        assert (made.metadata["rotation"], made.metadata["mine"]) == (90, [1])
        assert made.regions[0].box == (4, 12, 8, 24)
        assert metadata.find(made.regions[0], ObjectId) == ObjectId(4)
        assert metadata.find(made, Classification) == Classification("street")
        assert metadata.find(made, AffineTransform) == AffineTransform((0.5, 0, 0, 0, 0.5, 0))
        found = metadata.find(made, Detection)
        assert found is not None
        assert found.label == "cat"

    def test_it_is_its_own(self) -> None:
        frame = picture()
        made = frame.convert("RGB24")
        made.metadata["mine"] = 1
        made.regions.append(Region(0, 0, 1, 1))
        assert (frame.metadata, frame.regions) == ({}, [])

    @pytest.mark.parametrize(
        ("before", "said", "after", "asked", "expected"),
        [
            ("I420", {"color_range": "full", "color_matrix": "bt709", "chroma_location": "left"},
             "RGB", {}, {}),
            ("I420", {}, "NV12", {}, {}),
            ("I420", {"color_range": "full", "color_matrix": "bt709", "chroma_location": "left"},
             "NV12", {},
             {"color_range": "full", "color_matrix": "bt709", "chroma_location": "left"}),
            ("I420", {"color_matrix": "bt709", "chroma_location": "top"}, "I444", {},
             {"color_matrix": "bt709"}),
            ("I420", {"color_range": "limited"}, "NV12", {"color_range": "full"},
             {"color_range": "full"}),
            ("I420", {}, "NV12", {"color_range": "full", "color_matrix": "bt709"},
             {"color_range": "full", "color_matrix": "bt709"}),
            ("RGB", {"color_range": "full", "color_matrix": "bt709", "chroma_location": "left"},
             "NV12", {}, {"color_range": "limited", "color_matrix": "smpte170m"}),
            ("RGB", {}, "I420", {"color_matrix": "bt709"},
             {"color_range": "limited", "color_matrix": "bt709"}),
            ("I420", {"color_range": "limited", "color_matrix": "bt709"}, "GRAY8", {},
             {"color_range": "full"}),
            ("I420", {}, "GRAY8", {"color_range": "limited"}, {"color_range": "limited"}),
            ("GRAY8", {}, "I420", {}, {"color_range": "limited", "color_matrix": "smpte170m"}),
            ("GRAY8", {"color_range": "limited"}, "GRAY16", {}, {"color_range": "limited"}),
            ("BGR", {"color_primaries": "bt709", "color_transfer": "bt709"}, "RGB", {},
             {"color_primaries": "bt709", "color_transfer": "bt709"}),
        ],
    )  # fmt: skip
    def test_colours_are_those_of_the_new_picture(
        self, before: str, said: dict[str, str], after: str, asked: Any, expected: dict[str, str]
    ) -> None:
        made = picture(before, metadata=said).convert(after, **asked)
        assert made.metadata == expected

    def test_the_converter_hears_what_goes_without_saying(self) -> None:
        picture("I420").convert("RGB24")
        conversions = importlib.import_module("alpha_conversions")
        (one,) = conversions.made
        assert (one.source.color_range, one.source.color_matrix) == ("limited", "smpte170m")
        assert (one.target.color_range, one.target.color_matrix) == ("full", "gbr")
        assert str(one.source) == "I420 64x48 (limited range, smpte170m)"
        assert str(one.target) == "RGB 64x48"
        picture("I420", metadata={"color_range": "full"}).convert("RGB24")
        assert conversions.made[-1].source.color_range == "full"


# Disabled here, or not even installed where the core is tested alone.
_MISSING = "plugin '{}' (was set aside: it is disabled|is not installed)"


@pytest.mark.usefixtures("alpha")
class TestRefusals:
    def test_names(self) -> None:
        frame = picture()
        with pytest.raises(UnknownNameError, match="did you mean 'RGB'"):
            frame.convert("RGBB")
        with pytest.raises(UnknownNameError, match="unknown method 'lanczos'; known: area"):
            frame.convert("RGB24", method="lanczos")
        with pytest.raises(UnknownNameError, match="unknown color range 'tv'"):
            frame.convert("NV12", color_range="tv")
        for name in ("bt601", "BT.601", "ITU-R BT.601"):
            with pytest.raises(UnknownNameError, match="did you mean 'smpte170m' or 'bt470bg'"):
                frame.convert("NV12", color_matrix=name)
        match = f"unknown converter 'opencv'; known: alpha \\({_MISSING.format('opencv')}"
        with pytest.raises(UnknownNameError, match=match):
            frame.convert("RGB24", by="opencv")
        with pytest.raises(UnknownNameError, match=r"unknown converter 'gamma'; known: alpha$"):
            frame.convert("RGB24", by="gamma")

    @pytest.mark.parametrize("size", [(0, 48), (64, -1), (6.5, 48), (True, 48), ("64", 48)])
    def test_sizes(self, size: Any) -> None:
        with pytest.raises(LayoutError, match="positive integer"):
            picture().convert("RGB24", *size)

    def test_a_traceback_shows_no_look_up_before_the_error(self) -> None:
        wrong: list[dict[str, Any]] = [
            {"color_matrix": "x"}, {"by": "x"}, {"width": 0}, {"method": "x"},
        ]  # fmt: skip
        for one in wrong:
            with pytest.raises((UnknownNameError, LayoutError)) as caught:
                picture().convert("NV12", **one)
            assert caught.value.__suppress_context__ or caught.value.__context__ is None

    def test_a_list_is_not_a_format(self) -> None:
        wrong: Any = ["RGB24"]
        with pytest.raises((UnknownNameError, UnsupportedObjectError)):
            picture().convert(wrong)

    def test_rgb_has_no_matrix(self) -> None:
        with pytest.raises(LayoutError, match="color_matrix= is about YUV, and RGB is RGB"):
            picture().convert("RGB24", color_matrix="bt709")

    def test_an_entry_that_is_none(self) -> None:
        with pytest.raises(UnknownNameError, match=r"metadata\['color_range'\] 'tv'"):
            picture(metadata={"color_range": "tv"}).convert("RGB24")
        with pytest.raises(UnknownNameError, match=r"metadata\['color_range'\]"):
            picture(metadata={"color_range": []}).convert("RGB24")
        with pytest.raises(UnknownNameError, match="did you mean 'bt2020nc' or 'bt2020c'"):
            picture(metadata={"color_matrix": "bt2020"}).convert("RGB24")

    def test_sound(self) -> None:
        sound = sb.frame(
            np.zeros((8, 2), np.int16), audio=sb.AudioInfo(8, 2, 48_000, "int16", True)
        )
        with pytest.raises(UnsupportedObjectError, match="a frame of audio cannot be converted"):
            sound.convert("RGB24")

    def test_what_no_converter_does(self) -> None:
        with pytest.raises(UnsupportedObjectError) as caught:
            picture().convert("NV21")
        head, *lines = str(caught.value).split("\n  - ")
        assert head == (
            "no installed plugin converts I420 64x48 (limited range, smpte170m) to NV21 "
            "64x48 (limited range, smpte170m):"
        )
        assert lines[0] == "alpha: it does not like NV21"
        for line, name in zip(lines[1:], ("ffmpeg", "opencv"), strict=True):
            assert re.match(_MISSING.format(name), line)

    def test_memory_that_no_converter_gives(self) -> None:
        assert picture().convert("RGB24", memory="cpu")[0].native.flat[0] == 7
        with pytest.raises(UnsupportedObjectError, match=r"64x48.* to RGB 64x48 in beta:"):
            picture().convert("RGB24", memory="beta")

    def test_no_converter_at_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SAMEBYTES_PLUGINS", "cpu")
        sb.refresh()
        with pytest.raises(UnsupportedObjectError, match="converts pictures") as caught:
            picture().convert("RGB24")
        assert "'ffmpeg'" in str(caught.value)
        assert "'opencv'" in str(caught.value)


class TestSeveral:
    def test_the_cheapest_comes_first_and_refusals_go_on_to_the_next(self, alpha: Site) -> None:
        alpha.module("beta_conversions", _OTHER)
        alpha.plugin(
            "beta",
            _DECLARES_OTHER.format(cost="cost=1.0, "),
        )
        assert picture().convert("RGB24")[0].native.flat[0] == 99
        assert picture().convert("RGB24", by="alpha")[0].native.flat[0] == 7
        assert [*sb.stats().by_conversion] == ["I420 -> RGB (beta)", "I420 -> RGB (alpha)"]

    def test_a_frame_that_one_cannot_read_goes_to_another(self, alpha: Site) -> None:
        alpha.module("beta_conversions", _OTHER)
        alpha.plugin("beta", _DECLARES_OTHER.format(cost="cost=5000.0, "))
        pixels = np.full((48, 64), 7, np.uint8)
        assert sb.frame(pixels, format="GRAY8").convert("RGB24")[0].native.flat[0] == 7
        upside_down = sb.frame(pixels[::-1], format="GRAY8")
        assert upside_down.convert("RGB24")[0].native.flat[0] == 99
        assert sb.frame(pixels, format="GRAY8").convert("RGB24")[0].native.flat[0] == 7
        with pytest.raises(UnsupportedObjectError, match="from the bottom up"):
            upside_down.convert("RGB24", by="alpha")

    def test_one_that_was_asked_says_who_else_is_there(self, alpha: Site) -> None:
        with pytest.raises(UnsupportedObjectError, match="'alpha' does not convert I420") as caught:
            picture().convert("NV21", by="alpha")
        *_, reason, advice = str(caught.value).split("\n  - ")
        assert reason == "alpha: it does not like NV21"
        assert re.match("without by=: " + _MISSING.format("ffmpeg"), advice)

    @pytest.mark.parametrize(
        ("others", "said"),
        [(["beta"], "'beta' is tried too"), (["beta", "gamma"], "'beta', 'gamma' are tried too")],
    )
    def test_one_that_was_asked_names_the_others(
        self, alpha: Site, monkeypatch: pytest.MonkeyPatch, others: list[str], said: str
    ) -> None:
        monkeypatch.setenv("SAMEBYTES_PLUGINS", "cpu,alpha,beta,gamma")
        alpha.module("beta_conversions", _OTHER)
        for number, name in enumerate(others):
            alpha.plugin(name, _DECLARES_OTHER.format(cost=f"cost={5000.0 + number}, "))
        with pytest.raises(UnsupportedObjectError) as caught:
            picture().convert("NV21", by="alpha")
        assert str(caught.value).endswith(f"\n  - without by=: {said}")

    def test_one_that_is_broken_is_passed_over(self, alpha: Site) -> None:
        alpha.module("beta_conversions", "import nothing_of_that_name")
        alpha.plugin("beta", _DECLARES_OTHER.format(cost="cost=1.0, "))
        assert picture().convert("RGB24")[0].native.flat[0] == 7
        with pytest.raises(UnsupportedObjectError, match=r"beta: plugin 'beta': loading"):
            picture().convert("RGB24", by="beta")


_DECLARES_OTHER = """
@hookimpl
def samebytes_converters():
    return [ConverterSpec(node="cpu", converter="beta_conversions:Other", {cost}summary="x")]
"""
_OTHER = """
from samebytes.plugins import Conversion
class Other(Conversion):
    def run(self, source, target):
        for plane in target:
            plane.native[...] = 99
"""


@pytest.mark.usefixtures("alpha")
def test_threads_have_conversions_of_their_own() -> None:
    frame = picture()
    conversions = importlib.import_module("alpha_conversions")
    inside, together = [], Barrier(3, timeout=30)

    def run(self: Any, _: Any, target: Any) -> None:
        inside.append(self)
        together.wait()
        for plane in target:
            plane.native[...] = 1

    conversions.Fill.run = run
    threads = [Thread(target=frame.convert, args=("RGB24",)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in inside}) == 3


@pytest.mark.usefixtures("alpha")
def test_nothing_stays_of_a_thousand_frames() -> None:
    frame = picture()

    def once() -> None:
        made = frame.convert("RGB24", 32, 20)
        assert made[0].native[0, 0, 0] == 7

    once()
    assert_no_garbage(once, times=1_000)
    gc.collect()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ('ConverterSpec(node="c p u", converter="a:B")', "node 'c p u' is not a memory type"),
        ('ConverterSpec(node="cpu", converter="a.B")', "converter 'a.B' is not"),
        ('ConverterSpec(node="cpu", converter="a:B", cost=0)', "cost 0 is not a positive number"),
        ('ConverterSpec(node="cpu", converter="a:B", summary=3)', "summary 3 is not a string"),
        ('ConverterSpec(node="cpu", converter="a:B", gives="beta")', "gives 'beta' is neither"),
    ],
)
def test_wrong_declarations(site: Site, code: str, why: str) -> None:
    site.plugin("alpha", f"@hookimpl\ndef samebytes_converters():\n    return [{code}]\n")
    (found,) = [plugin for plugin in sb.installed_plugins() if plugin.name == "alpha"]
    assert why in str(found.error)


def test_the_hook_needs_its_version(site: Site) -> None:
    header = "from samebytes.plugins import *\nPLUGIN = Plugin(api=(1, 1), summary='old')\n"
    site.plugin("alpha", "@hookimpl\ndef samebytes_converters(): return []\n", header=header)
    (found,) = [plugin for plugin in sb.installed_plugins() if plugin.name == "alpha"]
    assert "samebytes_converters needs PLUGIN = Plugin(api=(1, 2))" in str(found.error)
