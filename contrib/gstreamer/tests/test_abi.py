# SPDX-License-Identifier: Apache-2.0
"""The mirrors of C headers, against the typelibs that were made from them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from gi.repository import GObject, Gst

from samebytes_gstreamer._abi import glib, gstreamer, libraries


def test_constants() -> None:
    assert int(Gst.MapFlags.READ) == gstreamer.GST_MAP_READ
    assert int(Gst.MapFlags.WRITE) == gstreamer.GST_MAP_WRITE
    assert int(Gst.MemoryFlags.READONLY) == gstreamer.GST_MEMORY_FLAG_READONLY
    assert Gst.CLOCK_TIME_NONE == gstreamer.GST_CLOCK_TIME_NONE
    assert Gst.BUFFER_OFFSET_NONE == gstreamer.GST_BUFFER_OFFSET_NONE
    assert hash(GObject.TYPE_INT) == glib.G_TYPE_INT


@pytest.mark.parametrize("name", [n for n in glib.__all__ if n.startswith("G_TYPE_")])
def test_fundamental_types(name: str) -> None:
    spelled = {"G_TYPE_BOOLEAN": b"gboolean", "G_TYPE_STRING": b"gchararray",
               "G_TYPE_VARIANT": b"GVariant"}  # fmt: skip
    expected = spelled.get(name, b"g" + name.removeprefix("G_TYPE_").lower().encode())
    assert libraries.gobject.g_type_name(getattr(glib, name)) == expected


def test_layouts_are_those_of_the_typelibs() -> None:
    libraries.check_layouts()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("gstreamer", "GstMiniObject"),
        ("gstreamer", "GstMemory"),
        ("gstreamer", "GstMapInfo"),
        ("gstreamer", "GstBuffer"),
        ("gstreamer", "GstMetaInfo"),
        ("plugin_libraries", "GstAudioMeta"),
        ("video", "GstVideoMeta"),
        ("video", "GstVideoCropMeta"),
        ("video", "GstVideoRegionOfInterestMeta"),
    ],
)
def test_another_layout_is_refused(module: str, name: str) -> None:
    program = f"""
import ctypes
import samebytes_gstreamer._abi.{module} as abi
class {name}(ctypes.Structure):
    _fields_ = [abi.{name}._fields_[0], ("more", ctypes.c_void_p), *abi.{name}._fields_[1:]]
abi.{name} = {name}
from samebytes_gstreamer._probe import probe
result = probe()
assert not result.usable and "{name}" in result.reason, result
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                           timeout=60, check=False)  # fmt: skip
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("change", "usable"),
    [
        # As if the installed GStreamer had added the last field.
        ("fields = abi.GstMetaInfo._fields_[:-1]; name = 'GstMetaInfo'", True),
        ("fields = abi.GstBuffer._fields_[:-1]; name = 'GstBuffer'", True),
        # GStreamer would write beyond a GstMapInfo of ours.
        ("fields = abi.GstMapInfo._fields_[:-1]; name = 'GstMapInfo'", False),
        # As if it had lost the last field.
        ("fields = [*abi.GstMapInfo._fields_, ('x', ctypes.c_int)]; name = 'GstMapInfo'", False),
        ("fields = [*abi.GstMeta._fields_, ('x', ctypes.c_int)]; name = 'GstMeta'", False),
    ],
)
def test_structures_of_gstreamer_may_only_have_grown(change: str, usable: bool) -> None:
    program = f"""
import ctypes
import samebytes_gstreamer._abi.gstreamer as abi
{change}
setattr(abi, name, type(name, (ctypes.Structure,), {{"_fields_": fields}}))
from samebytes_gstreamer._probe import probe
result = probe()
assert result.usable is {usable}, result
assert result.usable or name in result.reason, result
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                           timeout=60, check=False)  # fmt: skip
    assert ended.returncode == 0, ended.stderr
