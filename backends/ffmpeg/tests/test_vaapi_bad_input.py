# SPDX-License-Identifier: Apache-2.0
"""Decoding by VA-API where pictures are damaged, refused by the driver, or change their size."""

from __future__ import annotations

import errno
import io
import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

import samebytes_ffmpeg
from samebytes.errors import ElementError, NativeError
from samebytes_ffmpeg import VAAPIDecoder

from .test_vaapi_decoder import SIZE, decoded_by_software, in_memory, packets, picture, same

pytestmark = pytest.mark.usefixtures("jpeg")

OTHERS = 40
"""More pictures than a driver may refuse in a row."""


def joined(path: Path, *parts: list[bytes]) -> Path:
    """A file of JPEG pictures that are not alike, or none."""
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("mjpeg", rate=30)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuvj420p"
        for number, data in enumerate(itertools.chain(*parts)):
            packet = av.Packet(data)
            packet.stream, packet.time_base = stream, Fraction(1, 30)
            packet.pts = packet.dts = number
            packet.is_keyframe = True
            container.mux(packet)
    return path


def pictures(count: int, format_: str = "yuvj420p", size: tuple[int, int] = SIZE) -> list[bytes]:
    """Pictures as JPEG."""
    codec: Any = av.CodecContext.create("mjpeg", "w")
    codec.width, codec.height, codec.pix_fmt = *size, format_
    codec.time_base = Fraction(1, 30)
    frames = (picture(number, size).reformat(format=format_) for number in range(count))
    return [bytes(packet) for frame in frames for packet in codec.encode(frame)]


class TestRefused:
    """The software driver has surfaces of 4:2:0 alone: other pictures it refuses as it decodes."""

    def test_one_picture(self) -> None:
        first, last = pictures(2)
        (other,) = pictures(1, "yuvj422p")
        with av.open(io.BytesIO(first), format="mjpeg") as container:
            decoder = VAAPIDecoder(container.streams.video[0])
        with decoder:
            (kept,) = decoder.decode(av.Packet(first))
            with pytest.raises(
                av.error.InvalidDataError, match=r"refused .* mjpeg: .* 4:2:2"
            ) as caught:
                decoder.decode(av.Packet(other))
            assert caught.value.errno == errno.EIO
            assert len(decoder.decode(av.Packet(last))) == 1
        assert in_memory(kept)[0].shape == SIZE[::-1]

    def test_all_pictures_from_one_on(self, tmp_path: Path) -> None:
        path = joined(tmp_path / "others.avi", pictures(1), pictures(1, "yuvj422p") * OTHERS)
        with (
            av.open(str(path)) as container,
            VAAPIDecoder(container.streams.video[0]) as decoder,
        ):
            good, *others = packets(container.streams.video[0])
            assert len(decoder.decode(good)) == 1
            for other in others[:29]:
                with pytest.raises(av.error.InvalidDataError):
                    decoder.decode(other)
            with pytest.raises(NativeError, match=r"30 pictures in a row: .* device was lost"):
                decoder.decode(others[29])
            assert len(decoder.decode(good)) == 1
            with pytest.raises(av.error.InvalidDataError):
                decoder.decode(others[30])

    def test_a_file_says_so(self, tmp_path: Path) -> None:
        other = pictures(1, "yuvj422p")
        path = joined(tmp_path / "other.avi", pictures(1), other)
        with samebytes_ffmpeg.open(path, hwaccel="vaapi") as video:
            kept = next(video)
            with pytest.raises(ElementError, match=r"the driver of .* refused a picture"):
                next(video)
        assert in_memory(kept.native)[0].shape == SIZE[::-1]
        with pytest.raises(ElementError, match=r"the driver of .* refused a picture"):
            samebytes_ffmpeg.open(joined(path, other), hwaccel="vaapi")

    @pytest.mark.parametrize("begins", [True, False])
    def test_a_live_source_does_not_wait_forever(self, tmp_path: Path, begins: bool) -> None:
        """It leaves out single pictures, and counts as broken where none is decoded any more."""
        others = pictures(1, "yuvj422p") * OTHERS
        path = joined(tmp_path / "others.avi", pictures(1) if begins else [], others)
        options: dict[str, Any] = {"hwaccel": "vaapi", "live": True, "reconnect": 0}
        with pytest.raises(ElementError, match="refused 30 pictures in a row"):
            list(samebytes_ffmpeg.open(path, **options))

    def test_a_live_source_leaves_out_one(self, tmp_path: Path) -> None:
        some, other = pictures(2), pictures(1, "yuvj422p")
        path = joined(tmp_path / "other.avi", some[:1], other, [b"nothing"], some[1:])
        options: dict[str, Any] = {"hwaccel": "vaapi", "live": True, "reconnect": 0}
        with samebytes_ffmpeg.open(path, **options) as video:
            assert [frame.meta.pts for frame in video] == [0, 3]


def test_damage_at_the_beginning(tmp_path: Path) -> None:
    path = joined(tmp_path / "damaged.avi", [b"nothing"], pictures(1))
    with pytest.raises(ElementError, match="cannot decode it: it is damaged"):
        samebytes_ffmpeg.open(path, hwaccel="vaapi")


def test_sizes_that_change(tmp_path: Path) -> None:
    sizes = [SIZE, (130, 70), SIZE]
    path = joined(tmp_path / "sizes.avi", *(pictures(2, size=size) for size in sizes))
    with samebytes_ffmpeg.open(path, hwaccel="vaapi") as video:
        kept = list(video)
    for frame, software in zip(kept, decoded_by_software(path), strict=True):
        assert (frame.width, frame.height) == (software.width, software.height)
        assert same(frame.native, software)
