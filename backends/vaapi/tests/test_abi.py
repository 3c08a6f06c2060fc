# SPDX-License-Identifier: Apache-2.0
"""The mirrored declarations are those of the C headers, where these are installed."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import samebytes
from samebytes_vaapi._abi import constants, prototypes, structures
from samebytes_vaapi._formats import FORMATS, format_of, fourcc_text, name_of

INCLUDES = "".join(
    f"#include <{name}>\n"
    for name in (
        "va/va.h",
        "va/va_vpp.h",
        "va/va_drmcommon.h",
        "va/va_backend.h",
    )
)
CONSTANTS = {
    name: value
    for name, value in vars(constants).items()
    if name.startswith("VA") and isinstance(value, int)
}
# Structures without a name, by a C expression of their type.
UNNAMED = {
    "_value": "((VAGenericValue *)0)->value",
    "_objects": "((VADRMPRIMESurfaceDescriptor *)0)->objects[0]",
    "_layers": "((VADRMPRIMESurfaceDescriptor *)0)->layers[0]",
}


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The headers, preprocessed; comments and macros are gone."""
    if shutil.which("gcc") is None:
        pytest.skip("missing package gcc: apt install gcc")
    source = tmp_path_factory.mktemp("header") / "header.c"
    source.write_text(INCLUDES)
    done = subprocess.run(
        ["gcc", "-E", "-P", str(source)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("missing package libva-dev: apt install libva-dev")
    return done.stdout


def compiles(folder: Path, checks: list[str]) -> None:
    """Compile checks, each a C expression that must be true."""
    source = folder / "checks.c"
    asserts = "\n".join(f'_Static_assert({c}, "{c}");' for c in checks)
    source.write_text(f"#include <stddef.h>\n{INCLUDES}{asserts}\n")
    done = subprocess.run(
        ["gcc", "-std=gnu11", "-Wno-deprecated-declarations", "-fsyntax-only", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("header")
def test_structures(tmp_path: Path) -> None:
    checks = []
    for name in structures.__all__:
        structure = getattr(structures, name)
        checks.append(f"sizeof({name}) == {ctypes.sizeof(structure)}")
        for field, *_ in structure._fields_:
            place = getattr(structure, field)
            checks.append(f"offsetof({name}, {field}) == {place.offset}")
            checks.append(f"sizeof((({name} *)0)->{field}) == {place.size}")
    for name, expression in UNNAMED.items():
        structure = getattr(structures, name)
        checks.append(f"sizeof({expression}) == {ctypes.sizeof(structure)}")
        for field, *_ in structure._fields_:
            place = getattr(structure, field)
            checks.append(f"sizeof(({expression}).{field}) == {place.size}")
            begin = f"(char *)&({expression}).{field} - (char *)&({expression})"
            checks.append(f"{begin} == {place.offset}")
    assert len(checks) > 100
    compiles(tmp_path, checks)


@pytest.mark.usefixtures("header")
def test_constants(tmp_path: Path) -> None:
    assert len(CONSTANTS) > 60
    compiles(tmp_path, [f"{name} == {value:#x}" for name, value in CONSTANTS.items()])


@pytest.mark.usefixtures("header")
def test_bits_of_the_sub_device(tmp_path: Path) -> None:
    """Bit fields have no offset to compare: the compiler of the header lays them out."""
    program = tmp_path / "bits.c"
    program.write_text(
        f"""{INCLUDES}#include <stdio.h>
int main(void) {{
    VADisplayAttribValSubDevice v = {{.bits = {{3, 5, 0x7, 0x1234}}}};
    printf("%u", v.value);
    return 0;
}}"""
    )
    subprocess.run(["gcc", "-o", str(tmp_path / "bits"), str(program)], check=True)
    done = subprocess.run([str(tmp_path / "bits")], capture_output=True, text=True, check=True)
    value = structures.VADisplayAttribValSubDevice(value=int(done.stdout))
    bits = value.bits
    assert (bits.current_sub_device, bits.sub_device_count) == (3, 5)
    assert (bits.reserved, bits.sub_device_mask) == (7, 0x1234)


def test_prototypes(header: str) -> None:
    integers = {
        "int": ctypes.c_int,
        "unsigned int": ctypes.c_uint32,
        "uint32_t": ctypes.c_uint32,
        "VAStatus": ctypes.c_int,
        "VASurfaceID": ctypes.c_uint32,
        "VAImageID": ctypes.c_uint32,
        "VABufferID": ctypes.c_uint32,
        "VAConfigID": ctypes.c_uint32,
        "VAContextID": ctypes.c_uint32,
        "VAProfile": ctypes.c_int,
        "VAEntrypoint": ctypes.c_int,
        "VABufferType": ctypes.c_int,
    }
    expected = dict(prototypes.CALLS)
    expected |= {name: arguments for name, (_, arguments) in prototypes.ANSWERS.items()}
    for name, arguments in expected.items():
        found = re.search(rf"\b(\w+)\s*\**\s*{name}\s*\(([^)]*)\)\s*;", header)
        assert found, name
        assert (found[1] == "VAStatus") == (name in prototypes.CALLS), name
        declared = []
        for declaration in found[2].split(","):
            type_ = declaration.replace("const", "").strip().rpartition(" ")[0].strip()
            pointer = "*" in declaration or type_ in ("VADisplay", "VAMessageCallback")
            declared.append(ctypes.c_void_p if pointer else integers[type_])
        assert tuple(declared) == arguments, name


@pytest.mark.parametrize("name", FORMATS)
def test_each_is_a_format_of_samebytes(name: str) -> None:
    image = samebytes.formats.image_format(name)
    assert image.name == name
    assert name_of(format_of(image).fourcc) == name


def test_no_code_has_two_names() -> None:
    codes = [format_.fourcc for format_ in FORMATS.values()]
    assert len(set(codes)) == len(codes)


def test_names_of_codes() -> None:
    assert name_of(int.from_bytes(b"IYUV", "little")) == "I420"
    assert name_of(int.from_bytes(b"NV11", "little")) is None
    assert fourcc_text(int.from_bytes(b"NV11", "little")) == "'NV11'"
    assert fourcc_text(int.from_bytes(b"422H", "little")) == "I422"
