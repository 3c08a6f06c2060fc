# SPDX-License-Identifier: Apache-2.0
"""The plugin's declarations, which cost no import, and the probe's answers."""

from __future__ import annotations

import subprocess
import sys

import pytest

import samebytes as sb
import samebytes_gstreamer
from samebytes.errors import UnknownNameError, UnsupportedObjectError


def run(program: str) -> str:
    ended = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True,
                           text=True, timeout=60, check=False)  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_importing_the_package_does_not_import_gi() -> None:
    run("import sys, samebytes_gstreamer; assert 'gi' not in sys.modules")


def test_public_names_come_when_asked_for() -> None:
    for name in samebytes_gstreamer.__all__:
        found = getattr(samebytes_gstreamer, name)
        assert found.__module__.startswith("samebytes_gstreamer.")
        assert name in dir(samebytes_gstreamer)
    with pytest.raises(AttributeError, match="no_such"):
        samebytes_gstreamer.no_such  # type: ignore[attr-defined]  # noqa: B018


def test_the_probe_reports_the_versions() -> None:
    result = sb.probe("gstreamer")
    assert result.usable
    assert result.details["GStreamer"].startswith("GStreamer 1.")


NO_TYPELIBS = """
import gi
def require_version(namespace, version):
    raise ValueError(namespace)
gi.require_version = require_version
"""
NO_ALLOCATORS = """
import ctypes
real = ctypes.CDLL
def CDLL(name, *arguments, **more):
    if name == "libgstallocators-1.0.so.0":
        raise OSError("gone")
    return real(name, *arguments, **more)
ctypes.CDLL = CDLL
"""
NO_FUNCTION = """
import samebytes_gstreamer._abi.gstreamer as abi
abi.GSTREAMER["gst_no_such_function"] = (None,)
"""


@pytest.mark.parametrize(
    ("break_it", "hint"),
    [
        ("sys.modules['gi'] = None", "PyGObject"),
        (NO_TYPELIBS, "gir1.2-gst-plugins-base-1.0"),
        (NO_ALLOCATORS, "libgstreamer-plugins-base1.0-0"),
        (NO_FUNCTION, "apt install"),
    ],
)
def test_the_probe_says_what_is_missing(break_it: str, hint: str) -> None:
    output = run(
        f"import sys\n{break_it}\nfrom samebytes_gstreamer._probe import probe\n"
        "result = probe()\nassert not result.usable and result.reason\nprint(result.hint)"
    )
    assert hint in output


def test_a_missing_libgstva_harms_nothing_else() -> None:
    output = run(
        NO_ALLOCATORS.replace("gstallocators", "gstva")
        + "from samebytes_gstreamer._probe import probe\n"
        "result = probe()\nassert result.usable\nprint(result.details['VA-API memory'])"
    )
    assert "libgstreamer-plugins-bad1.0-0" in output


def test_contexts() -> None:
    assert sb.context("gstreamer") is sb.context("gstreamer")
    with pytest.raises(UnknownNameError):
        sb.context("gstreamer:nothing")
    with pytest.raises(UnsupportedObjectError, match="context_of"):
        sb.context("gstreamer:VA")
    with pytest.raises(UnsupportedObjectError, match="derive"):
        sb.context("gstreamer:OpenCL")
    with pytest.raises(UnsupportedObjectError, match=r"cannot allocate tensors: .*_frame\(\)"):
        sb.context("gstreamer").allocate((3, 4))
    with pytest.raises(UnsupportedObjectError, match='cannot allocate frames: map one of "cpu"'):
        sb.context("gstreamer").allocate_frame("NV12", 64, 48)
    frame = sb.context("cpu").allocate_frame("NV12", 64, 48).map("gstreamer", "rw")
    assert str(frame.image) == "NV12 64x48"


def test_handles() -> None:
    frame = sb.context("cpu").allocate_frame("GRAY8", 8, 4).map("gstreamer")
    assert frame.handle("gst_buffer") == hash(frame.native)
    plane = frame.planes[0]
    assert plane.handle("gst_memory") == plane.handle() == hash(plane.native.memory)
    for holder, key in ((frame, "cl_mem"), (plane, "cl_mem"), (frame, "nonsense")):
        with pytest.raises(UnknownNameError):
            holder.handle(key)


def test_routes_name_what_they_do() -> None:
    assert "gst_memory_map" in sb.route("gstreamer", "cpu").explain()
    assert not sb.route("cpu", "gstreamer").copies


_LATE_CLASSES = """
import sys, linecache
import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg
from samebytes_gstreamer._abi.gi import Gst, GstVideo, pointer_of
from samebytes_gstreamer._memory.memory import kind_of
import gi.module

late = []
load = gi.module.IntrospectionModule.__getattr__

def loading(module, name):
    found, frame = load(module, name), sys._getframe(1)
    while frame.f_globals.get("__name__", "").startswith("gi."):
        frame = frame.f_back
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    if isinstance(found, type) and name not in line:
        late.append(f"{name}, {frame.f_code.co_filename}:{frame.f_lineno}")
    return found

gi.module.IntrospectionModule.__getattr__ = loading
made = "videotestsrc num-buffers=3 ! video/x-raw,format=NV12,width=64,height=48"
with sbg.GStreamerSource(made) as frames:
    for frame in frames:
        assert kind_of(pointer_of(frame.native.peek_memory(0))) == "SystemMemory"
        frame.map("cpu").close()
pipe = el.Pipeline(el.create("gstreamer.source", "audiotestsrc num-buffers=3"), lambda f: f)
pipe.run()
print(*late, sep="\\n")
"""


def test_signals_leave_no_class_of_gstreamers_without_attributes() -> None:
    # An exception that comes while PyGObject makes a class is lost, and the class stays as it is.
    # So what C gives is made at the import of the plugin, which no such exception breaks off.
    ended = subprocess.run([sys.executable, "-c", _LATE_CLASSES], capture_output=True, text=True,
                           timeout=60, check=False)  # fmt: skip
    assert (ended.returncode, ended.stdout.strip()) == (0, ""), ended.stderr
