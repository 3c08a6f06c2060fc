# SPDX-License-Identifier: Apache-2.0
"""The mirrors of videodev2.h say what the header of this machine says."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from samebytes_v4l2 import _abi
from samebytes_v4l2._formats import NAMES, fourcc_text

STRUCTURES: dict[type[ctypes.Structure], int] = {
    _abi.v4l2_capability: 104,
    _abi.v4l2_pix_format: 48,
    _abi.v4l2_format: 208,
    _abi.v4l2_fmtdesc: 64,
    _abi.v4l2_fract: 8,
    _abi.v4l2_frmsize_discrete: 8,
    _abi.v4l2_frmsize_stepwise: 24,
    _abi.v4l2_frmsizeenum: 44,
    _abi.v4l2_frmival_stepwise: 24,
    _abi.v4l2_frmivalenum: 52,
    _abi.v4l2_captureparm: 40,
    _abi.v4l2_streamparm: 204,
    _abi.v4l2_requestbuffers: 20,
    _abi.timeval: 16,
    _abi.v4l2_timecode: 16,
    _abi.v4l2_buffer: 88,
    _abi.v4l2_exportbuffer: 64,
}
CONSTANTS: dict[str, int] = {
    name: value
    for name, value in vars(_abi).items()
    if name.isupper() and isinstance(value, int) and not name.startswith("_")
}
MEMBERS_OF_UNIONS = {
    _abi.v4l2_format: ("fmt.pix", "fmt.raw_data"),
    _abi.v4l2_streamparm: ("parm.capture", "parm.raw_data"),
    _abi.v4l2_buffer: ("m.offset", "m.userptr", "m.fd"),
    _abi.v4l2_frmsizeenum: ("discrete", "stepwise"),
    _abi.v4l2_frmivalenum: ("discrete", "stepwise"),
}
# V4L2_PIX_FMT_* -> the name of the layout here.
FORMATS = {
    "NV12": "NV12", "NV21": "NV21", "NV16": "NV16", "NV61": "NV61", "NV24": "NV24",
    "NV42": "NV42", "P010": "P010", "YUV420": "I420", "YVU420": "YV12", "YUV422P": "I422",
    "YUV411P": "I411", "YUV410": "I410", "YVU410": "YVU9", "YUYV": "YUY2", "YVYU": "YVYU",
    "UYVY": "UYVY", "VYUY": "VYUY", "YUV24": "V308", "AYUV32": "AYUV", "VUYA32": "VUYA",
    "VUYX32": "VUYX", "GREY": "GRAY8", "Y10": "GRAY10", "Y12": "GRAY12", "Y14": "GRAY14",
    "Y16": "GRAY16", "RGB24": "RGB", "BGR24": "BGR", "ABGR32": "BGRA", "XBGR32": "BGRX",
    "BGRA32": "ABGR", "BGRX32": "XBGR", "RGBA32": "RGBA", "RGBX32": "RGBX", "ARGB32": "ARGB",
    "XRGB32": "XRGB", "BGR32": "BGRX", "RGB32": "XRGB", "RGB565": "RGB565",
    "XRGB555": "RGB555", "RGB555": "RGB555", "XBGR555": "BGR555", "XRGB444": "RGB444",
    "XBGR444": "BGR444",
}  # fmt: skip


def _members(structure: type[ctypes.Structure]) -> Iterator[tuple[str, int]]:
    """The members of a structure that the header has too, and where they are."""
    hidden: tuple[str, ...] = getattr(structure, "_anonymous_", ())
    for name, *_ in structure._fields_:
        if name not in hidden:
            yield name, getattr(structure, name).offset
    for path in MEMBERS_OF_UNIONS.get(structure, ()):
        # Members of a union are where the union is.
        outer = path.partition(".")[0] if "." in path else hidden[0]
        yield path, getattr(structure, outer).offset


@pytest.mark.parametrize(("structure", "size"), list(STRUCTURES.items()))
def test_sizes(structure: type[ctypes.Structure], size: int) -> None:
    assert ctypes.sizeof(structure) == size


def test_numbers_of_the_calls() -> None:
    """As strace prints them; asm-generic architectures have the same ones."""
    assert _abi.VIDIOC_QUERYCAP == 0x80685600
    assert _abi.VIDIOC_S_FMT == 0xC0D05605
    assert _abi.VIDIOC_REQBUFS == 0xC0145608
    assert _abi.VIDIOC_QBUF == 0xC058560F
    assert _abi.VIDIOC_EXPBUF == 0xC0405610
    assert _abi.VIDIOC_DQBUF == 0xC0585611
    assert (_abi.VIDIOC_STREAMON, _abi.VIDIOC_STREAMOFF) == (0x40045612, 0x40045613)


@pytest.fixture(scope="session")
def header(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Every size, offset and constant that the header has, and the codes of formats."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler: apt install gcc")
    if not Path("/usr/include/linux/videodev2.h").exists():
        pytest.skip("no linux/videodev2.h: apt install linux-libc-dev")
    lines = ["#include <linux/videodev2.h>", "#include <stddef.h>", "#include <stdio.h>"]
    lines.append("int main(void) {")
    for structure in STRUCTURES:
        name = structure.__name__
        lines.append(f'  printf("{name} %zu\\n", sizeof(struct {name}));')
        lines += [
            f'  printf("{name}.{member} %zu\\n", offsetof(struct {name}, {member}));'
            for member, _ in _members(structure)
        ]
    lines += [f'  printf("{name} %llu\\n", (unsigned long long){name});' for name in CONSTANTS]
    for name in FORMATS:  # older headers lack some
        macro = f"V4L2_PIX_FMT_{name}"
        shown = f'  printf("{macro} %llu\\n", (unsigned long long){macro});'
        lines += [f"#ifdef {macro}", shown, "#endif"]
    lines.append("  return 0;\n}")
    folder = tmp_path_factory.mktemp("c")
    source = folder / "header.c"
    source.write_text("\n".join(lines))
    program = folder / "header"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-o", program, source], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    return {name: int(value) for name, value in map(str.split, done.stdout.splitlines())}


def test_the_header_says_the_same(header: dict[str, int]) -> None:
    mirrored = dict(CONSTANTS)
    for structure in STRUCTURES:
        mirrored[structure.__name__] = ctypes.sizeof(structure)
        mirrored |= {f"{structure.__name__}.{name}": at for name, at in _members(structure)}
    assert {name: header[name] for name in mirrored} == mirrored


def test_codes_of_formats(header: dict[str, int]) -> None:
    there = {name: header[f"V4L2_PIX_FMT_{name}"] for name in FORMATS
             if f"V4L2_PIX_FMT_{name}" in header}  # fmt: skip
    assert there
    assert {name: NAMES.get(code) for name, code in there.items()} == {
        name: FORMATS[name] for name in there
    }


def test_each_format_of_the_table_is_one_of_the_header() -> None:
    assert len(NAMES) == len(FORMATS)
    assert sorted(NAMES.values()) == sorted(FORMATS.values())


def test_codes_in_words() -> None:
    assert fourcc_text(_abi.v4l2_fourcc("YUYV")) == "YUYV"
    assert fourcc_text(_abi.v4l2_fourcc("Y10")) == "Y10"
    assert fourcc_text(_abi.v4l2_fourcc("Y16") | 1 << 31) == "Y16-BE"
