# SPDX-License-Identifier: Apache-2.0
"""Refusals say what to do; and the counts and choices that need no camera."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from samebytes.errors import (
    BusyError,
    MissingDependencyError,
    NativeError,
    UnsupportedObjectError,
)
from samebytes.plugins import advice_to_open
from samebytes_v4l2 import Camera, CameraGoneError, _abi, cameras
from samebytes_v4l2._device import Device, nodes, why_no_camera
from samebytes_v4l2._elements import chosen
from samebytes_v4l2._stream import missed


def test_a_node_that_is_not_there() -> None:
    with pytest.raises(MissingDependencyError, match="/dev/no-camera is missing: ") as caught:
        Camera("/dev/no-camera")
    there = nodes()
    assert caught.value.hint.startswith("pass one of " if there else "connect a camera")


def test_a_node_that_this_user_may_not_open(tmp_path: Path) -> None:
    node = tmp_path / "video"
    node.touch(mode=0)
    # This imports what the error needs, which another user may not read: "?" may be in an address.
    MissingDependencyError("v4l2", f"{node}?", advice_to_open(node))
    root = os.geteuid() == 0  # who may open everything
    if root:
        os.seteuid(65534)
    try:
        with pytest.raises(MissingDependencyError, match=r"permission to open .*video is missing"):
            Camera(str(node))
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero"])
def test_a_device_of_another_kind(path: str) -> None:
    with pytest.raises(UnsupportedObjectError, match=f"{path} is not a video node"):
        Camera(path)


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "clip.mp4"
    file.touch()
    with pytest.raises(UnsupportedObjectError, match="is not a video node"):
        Camera(str(file))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["VIDEO_CAPTURE", "STREAMING"], ""),
        (["VIDEO_CAPTURE"], "its driver only copies"),
        (["VIDEO_CAPTURE_MPLANE", "STREAMING"], "the multi-planar API alone"),
        (["VIDEO_M2M", "STREAMING"], "a memory-to-memory device (M2M)"),
        (["VIDEO_M2M_MPLANE", "STREAMING"], "a memory-to-memory device (M2M)"),
        (["VIDEO_OUTPUT", "STREAMING"], "it shows pictures"),
        (["META_CAPTURE", "STREAMING"], "a camera's metadata"),
        (["STREAMING"], "it captures no pictures"),
    ],
)
def test_kinds_of_nodes(names: list[str], said: str) -> None:
    """No machine of ours has multi-planar or M2M nodes: the capabilities are made up."""
    capabilities = 0
    for name in names:
        capabilities |= getattr(_abi, f"V4L2_CAP_{name}")
    reason = why_no_camera(capabilities)
    assert said in reason
    assert bool(said) == bool(reason)


def test_errors_say_what_to_do() -> None:
    device = object.__new__(Device)
    device.path = "/dev/video0"
    busy = device.error("VIDIOC_S_FMT", OSError(errno.EBUSY, "busy"))
    assert isinstance(busy, BusyError)
    assert "fuser -v /dev/video0" in str(busy)
    gone = device.error("VIDIOC_DQBUF", OSError(errno.ENODEV, "gone"))
    assert isinstance(gone, CameraGoneError | ConnectionError)
    assert "unplugged" in str(gone)
    other = device.error("VIDIOC_QBUF", OSError(errno.EINVAL, "Invalid argument"))
    assert isinstance(other, NativeError)
    assert (other.call, other.code) == ("VIDIOC_QBUF", errno.EINVAL)


def test_the_list_of_cameras() -> None:
    assert {camera.path for camera in cameras()} <= set(nodes())


@pytest.mark.parametrize(
    ("before", "sequence", "lost"),
    [
        (None, 7, 0), (7, 8, 0), (7, 10, 2), (0xFFFFFFFF, 0, 0), (0xFFFFFFFE, 1, 2),
        (500, 0, 0), (7, 7, 0),
    ],
)  # fmt: skip
def test_frames_that_were_missed(before: int | None, sequence: int, lost: int) -> None:
    assert missed(before, sequence) == lost


@pytest.mark.parametrize(
    ("asked", "wanted", "there", "current", "expected"),
    [
        ("YUY2", ["NV12"], ["NV12", "YUY2"], "NV12", "YUY2"),
        ("", ["BGR", "NV12"], ["YUY2", "NV12"], "YUY2", "NV12"),
        ("", ["BGR"], ["YUY2", "NV12"], "NV12", "NV12"),
        ("", [], ["YUY2", "NV12"], None, "YUY2"),
    ],
)
def test_the_format_that_an_element_chooses(
    asked: str, wanted: list[str], there: list[str], current: str | None, expected: str
) -> None:
    assert chosen(asked, wanted, there, current) == expected


def test_a_camera_without_pictures_in_rows() -> None:
    with pytest.raises(UnsupportedObjectError, match=r"gstreamer\.source and ffmpeg\.source"):
        chosen("", ["NV12"], [], None)
