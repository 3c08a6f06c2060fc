# SPDX-License-Identifier: Apache-2.0
"""The loudspeaker that each channel is for, from FFmpeg to GStreamer and back."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import AudioInfo
from samebytes.formats import CHANNELS, channel_layout, channel_names

av = pytest.importorskip("av", reason="missing package av: pip install av")
sbg = pytest.importorskip(
    "samebytes_gstreamer",
    reason="missing package samebytes-gstreamer: pip install samebytes-gstreamer",
)
pytest.importorskip(
    "samebytes_ffmpeg", reason="missing package samebytes-ffmpeg: pip install samebytes-ffmpeg"
)
pytest.importorskip("gi", reason="missing package PyGObject: pip install PyGObject")

from .pipelines import Gst, GstAudio, played  # noqa: E402 - after what it needs

# GstAudioChannelPosition by FFmpeg's short names, from the two headers' descriptions.
NICKS = {
    "FL": "front-left", "FR": "front-right", "FC": "front-center", "LFE": "lfe1",
    "BL": "rear-left", "BR": "rear-right", "FLC": "front-left-of-center",
    "FRC": "front-right-of-center", "BC": "rear-center", "LFE2": "lfe2", "SL": "side-left",
    "SR": "side-right", "TFL": "top-front-left", "TFR": "top-front-right",
    "TFC": "top-front-center", "TC": "top-center", "TBL": "top-rear-left",
    "TBR": "top-rear-right", "TSL": "top-side-left", "TSR": "top-side-right",
    "TBC": "top-rear-center", "BFC": "bottom-front-center", "BFL": "bottom-front-left",
    "BFR": "bottom-front-right", "WL": "wide-left", "WR": "wide-right", "SDL": "surround-left",
    "SDR": "surround-right",
}  # fmt: skip
# Every layout that FFmpeg names: av_channel_layout_standard().
STANDARD = (
    "mono", "stereo", "2.1", "3.0", "3.0(back)", "4.0", "quad", "quad(side)", "3.1", "5.0",
    "5.0(side)", "4.1", "5.1", "5.1(side)", "6.0", "6.0(front)", "3.1.2", "hexagonal", "6.1",
    "6.1(back)", "6.1(front)", "7.0", "7.0(front)", "7.1", "7.1(wide)", "7.1(wide-side)", "5.1.2",
    "5.1.2(back)", "octagonal", "cube", "5.1.4", "7.1.2", "7.1.4", "7.2.3", "9.1.4", "9.1.6",
    "hexadecagonal", "binaural", "downmix", "22.2",
)  # fmt: skip
# Their channels lie in another order than GStreamer's.
OTHER_ORDER = {"7.2.3", "hexadecagonal", "22.2"}


def position(name: str) -> Any:
    nick = NICKS[name].replace("-", "_").upper()
    return getattr(GstAudio.AudioChannelPosition, nick)


def native_sound(layout: str, format_: str = "s16") -> Any:
    native = av.AudioFrame(format_, layout, 100)
    native.sample_rate = 48_000
    for number, plane in enumerate(native.planes[: native.layout.nb_channels]):
        np.frombuffer(plane, np.uint8)[:] = number
    return native


def av_layout(layout: str) -> Any:
    try:
        return av.AudioLayout(layout)
    except ValueError:
        pytest.skip(f"missing layout: this FFmpeg has no {layout}")


@pytest.mark.parametrize("layout", STANDARD)
def test_layouts_are_those_of_ffmpeg(layout: str) -> None:
    names = channel_names(layout)
    assert names == tuple(channel.name for channel in av_layout(layout).channels)
    assert channel_layout(names) == layout


def test_channels_are_those_of_ffmpeg() -> None:
    """Older ones lack the last names."""
    known = [name for name in CHANNELS if name not in ("SSL", "SSR", "TTL", "TTR")]
    for name in known:
        (channel,) = av_layout(name).channels
        assert channel.name == name


@pytest.mark.parametrize("format_", ["s16", "fltp"])
@pytest.mark.parametrize("layout", STANDARD)
def test_layouts_from_ffmpeg(layout: str, format_: str) -> None:
    av_layout(layout)
    if format_ == "fltp" and len(channel_names(layout) or ()) > 8:
        format_ = "flt"  # filled through PyAV's planes, which has no more than eight
    frame = sb.frame(native_sound(layout, format_))
    assert frame.audio is not None
    assert frame.audio.channel_layout == layout
    if layout in OTHER_ORDER:
        with pytest.raises(sb.errors.RouteError, match="but GStreamer takes"):
            frame.map("gstreamer")
        return
    mapped: Any = frame.map("gstreamer")
    info = GstAudio.AudioInfo.new_from_caps(mapped.caps)
    names = channel_names(layout)
    assert names is not None
    if layout in ("binaural", "downmix"):  # GStreamer has no such channels
        assert info.flags & GstAudio.AudioFlags.UNPOSITIONED
        return
    if layout == "mono":
        assert info.position[0] == GstAudio.AudioChannelPosition.MONO
    else:
        found = [int(number) for number in info.position[: len(names)]]
        assert found == [int(position(name)) for name in names]
    with played("identity", mapped) as back:
        assert back.audio == frame.audio
        assert back.map("ffmpeg").native.layout.name == layout


@pytest.mark.parametrize("layout", sorted(OTHER_ORDER))
def test_channels_that_lie_in_gstreamers_order(layout: str) -> None:
    """TFC after TFR, LFE2 before SL: FFmpeg would play them from the wrong loudspeakers."""
    names = sorted(channel_names(layout) or (), key=lambda name: int(position(name)))
    mask = sum(1 << int(position(name)) for name in names)
    caps = (
        f"audio/x-raw,format=S16LE,rate=48000,layout=interleaved,channels={len(names)},"
        f"channel-mask=(bitmask){mask:#x}"
    )
    frame = sbg.frame_of(Gst.Buffer.new_allocate(None, 10 * len(names), None), caps)
    assert frame.audio is not None
    assert frame.audio.channel_layout == "+".join(names)
    with pytest.raises(sb.errors.RouteError, match="but FFmpeg takes"):
        frame.map("ffmpeg")
    # Onto a buffer again they go.
    mapped: Any = frame.map("cpu").map("gstreamer")
    assert f"{mask:#018x}" in mapped.caps.to_string()


@pytest.mark.parametrize("name", NICKS)
def test_each_channel_alone_and_beside_others(name: str) -> None:
    number = int(position(name))
    for mask, channels in ((1 << number, 1), (1 << number | 0b11, 3)):
        if channels == 3 and number < 2:
            continue
        caps = (
            "audio/x-raw,format=S16LE,rate=8000,layout=interleaved,"
            f"channels={channels},channel-mask=(bitmask){mask:#x}"
        )
        frame = sbg.frame_of(Gst.Buffer.new_allocate(None, 6 * channels, None), caps)
        assert frame.audio is not None
        names = channel_names(frame.audio.channel_layout)
        assert names == ((name,) if channels == 1 else ("FL", "FR", name))
        native = frame.map("ffmpeg").native
        assert tuple(channel.name for channel in native.layout.channels) == names
        mapped: Any = frame.map("cpu").map("gstreamer")
        if (channels, name) != (1, "FC"):  # that is mono
            assert f"{mask:#018x}" in mapped.caps.to_string()


@pytest.mark.parametrize("channels", [3, 5, 8, 24])
def test_channels_for_no_loudspeaker(channels: int) -> None:
    """Nobody guesses: three channels are not "2.1"."""
    caps = (
        "audio/x-raw,format=S16LE,rate=8000,layout=interleaved,"
        f"channels={channels},channel-mask=(bitmask)0x0"
    )
    frame = sbg.frame_of(Gst.Buffer.new_allocate(None, 20 * channels, None), caps)
    assert frame.audio is not None
    assert frame.audio.channel_layout is None
    native = frame.map("ffmpeg").native
    assert native.layout.name == f"{channels} channels"
    mapped: Any = sb.frame(native).map("gstreamer")
    assert "channel-mask=(bitmask)0x0000000000000000" in mapped.caps.to_string()


def test_ambisonics_are_for_no_loudspeaker() -> None:
    mapped: Any = sb.frame(native_sound("ambisonic 1")).map("gstreamer")
    assert "channel-mask=(bitmask)0x0000000000000000" in mapped.caps.to_string()


def test_layouts_that_do_not_fit_the_sound() -> None:
    info = AudioInfo(10, 2, 8000, "int16", channel_layout="5.1")
    frame = sb.frame(np.zeros((10, 2), np.int16), audio=info)
    with pytest.raises(sb.errors.RouteError, match=r"5\.1.*6 channels"):
        frame.map("gstreamer")


@pytest.mark.parametrize("layout", ["stereo", "3.0", "5.1"])
def test_encoding_by_vorbis(tmp_path: Path, layout: str) -> None:
    if Gst.ElementFactory.find("vorbisenc") is None:
        pytest.skip("missing element vorbisenc: apt install gstreamer1.0-plugins-base")
    path = tmp_path / "out.ogg"
    native = native_sound(layout, "flt")
    with sbg.GStreamerSink(f"vorbisenc ! oggmux ! filesink location={path}") as sink:
        for number in range(10):
            native.pts, native.time_base = number * 100, Fraction(1, 48_000)
            sink.write(sb.frame(native))
    with av.open(str(path)) as container:
        assert container.streams.audio[0].layout.name == layout
