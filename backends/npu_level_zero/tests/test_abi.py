# SPDX-License-Identifier: Apache-2.0
"""The mirrored declarations are those of the C headers, where these are installed."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from enum import IntEnum, IntFlag
from pathlib import Path

import pytest

from samebytes_npu_level_zero._abi import constants, prototypes, results, structures

INCLUDES = "#include <level_zero/ze_api.h>\n#include <level_zero/loader/ze_loader.h>\n"
ENUMS: list[tuple[type[IntEnum] | type[IntFlag], str]] = [
    (results.Result, "ZE_RESULT_"),
    (constants.StructureType, "ZE_STRUCTURE_TYPE_"),
    (constants.DeviceType, "ZE_DEVICE_TYPE_"),
    (constants.MemoryType, "ZE_MEMORY_TYPE_"),
    (constants.CommandQueueMode, "ZE_COMMAND_QUEUE_MODE_"),
    (constants.ExternalMemoryType, "ZE_EXTERNAL_MEMORY_TYPE_FLAG_"),
    (constants.CommandQueueGroupPropertyFlag, "ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_"),
]
LIMITS = [name for name in vars(constants) if name.startswith(("ZE_MAX", "ZEL_"))]


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Both headers, preprocessed; comments and macros are gone."""
    if shutil.which("gcc") is None:
        pytest.skip("missing package gcc: apt install gcc")
    source = tmp_path_factory.mktemp("header") / "header.c"
    source.write_text(INCLUDES)
    done = subprocess.run(
        ["gcc", "-E", "-P", str(source)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("missing package libze-dev: apt install libze-dev")
    return done.stdout


def compiles(folder: Path, checks: list[str]) -> None:
    """Compile checks, each a C expression that must be true."""
    source = folder / "checks.c"
    asserts = "\n".join(f'_Static_assert({c}, "{c}");' for c in checks)
    source.write_text(f"#include <stddef.h>\n{INCLUDES}{asserts}\n")
    done = subprocess.run(
        ["gcc", "-std=c11", "-fsyntax-only", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def mirrored() -> dict[str, type[ctypes.Structure]]:
    """The structures by their names."""
    found = {n: getattr(structures, n) for n in structures.__all__ if n != "Typed"}
    assert all(issubclass(s, ctypes.Structure) for s in found.values())
    return found


def test_structures(header: str, tmp_path: Path) -> None:
    checks = []
    for name, structure in mirrored().items():
        if not re.search(rf"\b{name}\b", header):
            assert name == "ze_external_memmap_sysmem_ext_desc_t", "newer than the header"
            continue
        checks.append(f"sizeof({name}) == {ctypes.sizeof(structure)}")
        for field, *_ in structure._fields_:
            place = getattr(structure, field)
            checks.append(f"offsetof({name}, {field}) == {place.offset}")
            checks.append(f"sizeof((({name} *)0)->{field}) == {place.size}")
    assert len(checks) > 3 * len(mirrored())
    compiles(tmp_path, checks)


def test_constants(header: str, tmp_path: Path) -> None:
    checks = [f"{name} == {getattr(constants, name)}" for name in LIMITS]
    for enum, prefix in ENUMS:
        for member in enum:
            name = f"{prefix}{member.name}"
            if re.search(rf"\b{name}\b", header):
                checks.append(f"{name} == {member.value:#x}")
            else:
                assert name == "ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC"
    assert len(checks) > 80
    compiles(tmp_path, checks)


def test_every_structure_names_its_type() -> None:
    for name, structure in mirrored().items():
        if issubclass(structure, structures.Typed):
            made = structure()
            assert made.stype == structure.STYPE, name
            assert made.pNext is None
            assert [f for f, *_ in structure._fields_][:2] == ["stype", "pNext"]


def test_prototypes(header: str) -> None:
    integers = {"size_t": ctypes.c_size_t, "uint32_t": ctypes.c_uint32, "ze_init_flags_t":
                ctypes.c_uint32}  # fmt: skip
    for name, expected in prototypes.PROTOTYPES.items():
        found = re.search(rf"\b{name}\s*\(([^)]*)\)", header)
        assert found, name
        arguments = []
        for declaration in found[1].split(","):
            type_ = declaration.replace("const", "").strip().rpartition(" ")[0]
            pointer = "*" in declaration or type_.endswith("_handle_t")
            arguments.append(ctypes.c_void_p if pointer else integers[type_.strip()])
        assert tuple(arguments) == expected, name


def test_every_code_has_a_meaning_that_a_call_in_use_may_give() -> None:
    documented = {
        results.Result.ERROR_UNINITIALIZED,
        results.Result.ERROR_DEVICE_LOST,
        results.Result.ERROR_INVALID_NULL_HANDLE,
        results.Result.ERROR_INVALID_NULL_POINTER,
        results.Result.ERROR_INVALID_ENUMERATION,
        results.Result.ERROR_UNSUPPORTED_SIZE,
        results.Result.ERROR_UNSUPPORTED_ALIGNMENT,
        results.Result.ERROR_OUT_OF_HOST_MEMORY,
        results.Result.ERROR_OUT_OF_DEVICE_MEMORY,
        results.Result.ERROR_NOT_AVAILABLE,
    }
    assert documented <= results.MEANINGS.keys()
