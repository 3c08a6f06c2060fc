# SPDX-License-Identifier: Apache-2.0
"""The tables of libavutil and libavcodec: sizes, offsets, and that they are the libraries used."""

from __future__ import annotations

import ctypes
from typing import Any

import av
import numpy as np
import pytest
from av.sidedata.sidedata import Type
from av.video.frame import PictureType
from av.video.reformatter import ColorRange, Colorspace

from samebytes.errors import MissingDependencyError
from samebytes.plugins import data_address
from samebytes_ffmpeg import _avframe_abi, _avutil, _avutil_abi, _pyav, _side_data
from samebytes_ffmpeg._hardware import libavcodec
from samebytes_ffmpeg._hardware.hwcontext_abi import DEVICE_CONTEXTS, FRAMES_CONTEXTS
from samebytes_ffmpeg._hardware.libraries import library_for


@pytest.mark.parametrize(
    ("structure", "size"),
    [
        (_avutil_abi.AVBufferRef, 24),
        (_avutil_abi.AVBuffer, 48),
        (_avutil_abi.AVComponentDescriptor, 20),
        (_avutil_abi.AVPixFmtDescriptor, 112),
    ],
)
def test_structures_have_the_sizes_of_the_headers(
    structure: type[ctypes.Structure], size: int
) -> None:
    assert ctypes.sizeof(structure) == size


@pytest.mark.parametrize(
    ("field", "offsets"),
    [
        ("data", (0, 0, 0, 0, 0)),
        ("linesize", (64, 64, 64, 64, 64)),
        ("extended_data", (96, 96, 96, 96, 96)),
        ("width", (104, 104, 104, 104, 104)),
        ("nb_samples", (112, 112, 112, 112, 112)),
        ("format", (116, 116, 116, 116, 116)),
        ("pts", (136, 136, 136, 136, 136)),
        ("sample_rate", (208, 208, 192, 180, 180)),
        ("buf", (224, 224, 200, 184, 184)),
        ("extended_buf", (288, 288, 264, 248, 248)),
        ("nb_extended_buf", (296, 296, 272, 256, 256)),
        ("hw_frames_ctx", (392, 392, 352, 328, 328)),
        ("crop_top", (408, 408, 368, 344, 344)),
        ("crop_right", (432, 432, 392, 368, 368)),
    ],
)
def test_avframe_has_the_offsets_of_the_header(field: str, offsets: tuple[int, ...]) -> None:
    frames = [_avframe_abi.AVFRAMES[major] for major in (57, 58, 59, 60, 61)]
    assert tuple(getattr(frame, field).offset for frame in frames) == offsets


def test_the_library_is_the_one_that_pyav_reports() -> None:
    assert _avutil.PYAV.version == av.library_versions["libavutil"]


def test_fields_of_an_avframe_are_where_pyav_puts_them() -> None:
    native = av.VideoFrame(64, 48, "yuv444p")
    native.pts = 77
    frame = _avutil.AVFrame.from_address(_pyav.frame_address(native))
    assert frame.pts == 77
    assert frame.data[:3] == [p.buffer_ptr for p in native.planes]
    assert frame.linesize[:3] == [p.line_size for p in native.planes]
    sound = av.AudioFrame("s16", "stereo", 100)
    sound.sample_rate = 44100
    frame = _avutil.AVFrame.from_address(_pyav.frame_address(sound))
    assert (frame.sample_rate, frame.nb_samples) == (44100, 100)


def test_every_known_libavutil_has_contexts_of_devices() -> None:
    assert set(_avframe_abi.AVFRAMES) == set(DEVICE_CONTEXTS) == set(FRAMES_CONTEXTS)


def test_side_data_have_the_names_of_pyav() -> None:
    kinds: list[Any] = list(Type)  # the stubs do not say what the values are
    names = _side_data.SIDE_DATA_NAMES
    named = [(kind.value, kind.name.replace("THREE_D_", "3D_")) for kind in kinds]
    assert named == [*enumerate(names[: len(kinds)])]


def test_pyav_and_libavutil_agree_with_the_rest_of_an_avframe() -> None:
    """The fields after buf, each of which PyAV or a call of libavutil reads or writes."""
    library = _avutil.PYAV
    native = av.VideoFrame(64, 48, "yuv420p")
    address = _pyav.frame_address(native)
    frame = _avutil.AVFrame.from_address(address)
    native.dts, native.pict_type = 78, PictureType.B
    assert (frame.pkt_dts, frame.pict_type) == (78, PictureType.B)
    native.color_range, native.colorspace = ColorRange.JPEG, Colorspace.SMPTE170M
    assert (frame.color_range, frame.colorspace) == (ColorRange.JPEG, Colorspace.SMPTE170M)
    new_side_data = library.quick(
        "av_frame_new_side_data", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
    )
    made = new_side_data(address, 0, 16)
    assert frame.nb_side_data == 1
    assert ctypes.c_void_p.from_address(frame.side_data).value == made
    ctypes.memset(ctypes.c_void_p.from_address(made + 8).value or 0, 7, 16)
    assert _side_data.read_side_data(native) == {"PANSCAN": bytes([7] * 16)}
    frame.flags = 1  # AV_FRAME_FLAG_CORRUPT
    assert native.is_corrupt
    frame.flags = 0

    copied = av.VideoFrame(64, 48, "yuv420p")
    other = _avutil.AVFrame.from_address(_pyav.frame_address(copied))
    frame.opaque_ref = library.buffer_create(library.malloc(8), 8, None, None, 0)
    frame.decode_error_flags, frame.best_effort_timestamp, frame.chroma_location = 5, 99, 3
    library.frame_copy_props(_pyav.frame_address(copied), address)
    assert other.opaque_ref not in (None, frame.opaque_ref)
    assert (
        (other.decode_error_flags, other.best_effort_timestamp, other.chroma_location)
        == (5, 99, 3)
    )  # fmt: skip


def test_the_short_form_reads_what_the_structure_reads() -> None:
    native = av.VideoFrame(64, 48, "yuva420p")
    address = _pyav.frame_address(native)
    frame = _avutil.AVFrame.from_address(address)
    head = ctypes.string_at(address, _avutil.FRAME_HEAD.size)
    assert _avutil.FRAME_HEAD.unpack(head) == (
        *frame.data[:4], *frame.linesize[:4], frame.extended_data, 64, 48, 0, frame.format,
        frame.buf[0] or 0,
    )  # fmt: skip
    made_up = frame.hw_frames_ctx, frame.crop_top, frame.crop_left = 4096, 6, 9
    try:
        for_devices = _avframe_abi.device_fields(_avutil.AVFrame)
        fields = for_devices.unpack(ctypes.string_at(address, for_devices.size))
    finally:
        frame.hw_frames_ctx, frame.crop_top, frame.crop_left = None, 0, 0
    assert fields == (
        *frame.data[:4], *frame.linesize[:4], 64, 48, frame.format, frame.buf[0], *made_up
    )  # fmt: skip
    assert _avframe_abi.FRAME_PLANES.size == _avutil.AVFrame.extended_data.offset


@pytest.mark.parametrize("major", sorted(_avframe_abi.AVFRAMES))
def test_ints_are_read_and_written_in_one_go(major: int) -> None:
    kind = _avframe_abi.AVFRAMES[major]
    names = "pict_type", "sample_aspect_ratio", "repeat_pict", "flags", "chroma_location"
    one, other = kind(), kind()
    one.pict_type, one.repeat_pict, one.flags, one.chroma_location = 1, 4, 5, 6
    one.sample_aspect_ratio[:] = 2, 3
    ints = _avframe_abi.ints_of(kind, *names)
    assert ints.unpack_from(one) == (1, 2, 3, 4, 5, 6)
    ints.pack_into(other, 0, *ints.unpack_from(one))
    assert bytes(other) == bytes(one)


def test_a_plane_knows_its_frame_and_number() -> None:
    native = av.VideoFrame(64, 48, "yuv420p")
    planes = native.planes
    assert [_pyav.plane_index(p) for p in planes] == [0, 1, 2]
    assert all(_pyav.frame_of_plane(p) is native for p in planes)


def test_array_addresses_are_numpys() -> None:
    array = np.arange(60, dtype=np.int32).reshape(5, 12)
    for view in (array, array[::-1], array[1:, 3:], array[:0], array.T):
        assert data_address(view) == view.ctypes.data


@pytest.mark.usefixtures("jpeg")
class TestLibavcodec:
    """The one that VAAPIDecoder decodes with: it is checked before it is used."""

    @pytest.fixture
    def codec(self) -> libavcodec.Libavcodec:
        return libavcodec.libavcodec_of(library_for("vaapi"))

    def test_a_system_without_libavcodec(
        self, monkeypatch: pytest.MonkeyPatch, codec: libavcodec.Libavcodec
    ) -> None:
        monkeypatch.setattr(libavcodec, "_VERSIONS", {codec.avutil.major: 1})
        with pytest.raises(MissingDependencyError, match=r"libavcodec\.so\.1 ") as caught:
            libavcodec.libavcodec_of.__wrapped__(codec.avutil)
        assert "apt install libavcodec1" in caught.value.hint

    @pytest.mark.parametrize(
        ("structure", "field"), [("_AVCodecParameters", "codec_id"), ("AVPacket", "data")]
    )
    def test_other_layouts_are_refused(
        self,
        monkeypatch: pytest.MonkeyPatch,
        codec: libavcodec.Libavcodec,
        structure: str,
        field: str,
    ) -> None:
        fields: list[tuple[str, Any]] = []
        for name, kind in getattr(libavcodec, structure)._fields_:
            fields += [("new", ctypes.c_int64)] if name == field else []
            fields.append((name, kind))
        other = type("Other", (ctypes.Structure,), {"_fields_": fields})
        monkeypatch.setattr(libavcodec, structure, other)
        with pytest.raises(MissingDependencyError, match="contexts have the layout of FFmpeg"):
            codec.check()

    def test_the_place_of_the_device_is_checked(
        self, monkeypatch: pytest.MonkeyPatch, codec: libavcodec.Libavcodec
    ) -> None:
        elsewhere = ctypes.c_uint64()
        address = ctypes.addressof(elsewhere)
        monkeypatch.setattr(libavcodec.Libavcodec, "_device_slot", lambda self, context: address)
        with pytest.raises(MissingDependencyError, match="contexts have the layout of FFmpeg"):
            codec.check()
        codec.avutil.buffer_replace(address, None)
