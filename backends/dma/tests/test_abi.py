# SPDX-License-Identifier: Apache-2.0
"""The mirrors of C headers say what the headers of this machine say."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from samebytes_dma import INVALID, LINEAR, _abi

STRUCTURES: tuple[type[ctypes.Structure], ...] = (
    _abi.dma_buf_sync,
    _abi.dma_buf_export_sync_file,
    _abi.dma_buf_import_sync_file,
    _abi.dma_heap_allocation_data,
    _abi.udmabuf_create,
)
CONSTANTS: dict[str, int] = {
    name: value
    for name, value in vars(_abi).items()
    if name.isupper() and isinstance(value, int) and name != "MAP_FAILED"
}
HEADERS = (
    "linux/dma-buf.h",
    "linux/dma-heap.h",
    "linux/udmabuf.h",
    "sys/mman.h",
    "linux/fcntl.h",
)


@pytest.mark.parametrize(
    ("structure", "size"), list(zip(STRUCTURES, (8, 8, 8, 24, 24), strict=True))
)
def test_sizes(structure: type[ctypes.Structure], size: int) -> None:
    assert ctypes.sizeof(structure) == size


def test_numbers_of_the_calls() -> None:
    """As strace prints them; asm-generic architectures have the same ones."""
    assert _abi.DMA_BUF_IOCTL_SYNC == 0x40086200
    assert _abi.DMA_BUF_IOCTL_EXPORT_SYNC_FILE == 0xC0086202
    assert _abi.DMA_BUF_IOCTL_IMPORT_SYNC_FILE == 0x40086203
    assert _abi.DMA_HEAP_IOCTL_ALLOC == 0xC0184800
    assert _abi.UDMABUF_CREATE == 0x40187542


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that prints every size, offset and constant that the headers have."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler: apt install gcc")
    missing = [h for h in HEADERS if not (Path("/usr/include") / h).exists()]
    missing = [h for h in missing if h != "sys/mman.h"]  # in a folder of the architecture
    if missing:
        pytest.skip(f"no {missing[0]}: apt install linux-libc-dev")
    lines = [f"#include <{header}>" for header in HEADERS]
    lines += ["#include <stddef.h>", "#include <stdio.h>", "int main(void) {"]
    for structure in STRUCTURES:
        name = structure.__name__
        lines.append(f'  printf("{name} %zu\\n", sizeof(struct {name}));')
        lines += [
            f'  printf("{name}.{field[0]} %zu\\n", offsetof(struct {name}, {field[0]}));'
            for field in structure._fields_
        ]
    lines += [f'  printf("{name} %llu\\n", (unsigned long long){name});' for name in CONSTANTS]
    lines.append("  return 0;\n}")
    folder = tmp_path_factory.mktemp("c")
    source = folder / "headers.c"
    source.write_text("\n".join(lines))
    program = folder / "headers"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-o", program, source], check=True)
    return program


def test_the_headers_say_the_same(compile_c: Path) -> None:
    done = subprocess.run([compile_c], capture_output=True, text=True, check=True)
    said = dict(line.split() for line in done.stdout.splitlines())
    mirrored = {name: str(value) for name, value in CONSTANTS.items()}
    for structure in STRUCTURES:
        mirrored[structure.__name__] = str(ctypes.sizeof(structure))
        for field in structure._fields_:
            offset = getattr(structure, field[0]).offset
            mirrored[f"{structure.__name__}.{field[0]}"] = str(offset)
    assert said == mirrored


def test_modifiers() -> None:
    """drm/drm_fourcc.h: fourcc_mod_code(NONE, 0) and fourcc_mod_code(NONE, (1 << 56) - 1)."""
    assert (LINEAR, INVALID) == (0, 0x00FF_FFFF_FFFF_FFFF)
