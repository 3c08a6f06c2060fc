# SPDX-License-Identifier: Apache-2.0
"""The layer's C code, mostly over a runtime and loaders made for the tests, under sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CSRC = HERE.parents[1] / "csrc"
SOURCES = sorted([*(CSRC / "gpu").glob("*.c"), *(CSRC / "faults").glob("*.c")])
pytestmark = pytest.mark.skipif(
    not SOURCES,
    reason="the C sources lie in the repository, and this is a test of the wheel",
)


def can_compile() -> bool:
    """True if the compiler and the headers of OpenCL's layers are here."""
    if shutil.which("gcc") is None:
        return False
    look = ["gcc", "-E", "-x", "c", "-"]
    source = "#define CL_TARGET_OPENCL_VERSION 300\n#include <CL/cl_layer.h>\n"
    done = subprocess.run(look, input=source, capture_output=True, text=True, check=False)
    return done.returncode == 0


@pytest.fixture(autouse=True)
def compiler() -> None:
    if not can_compile():
        pytest.skip("missing package opencl-c-headers: apt install gcc opencl-c-headers")


@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_the_layer_is_clean(tmp_path: Path, sanitizers: str) -> None:
    program = tmp_path / "layer_test"
    flags = ["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]
    checked = [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    native = (HERE / "native" / name for name in ("layer_test.c", "fake_runtime.c"))
    sources = [str(path) for path in (*native, *SOURCES)]
    subprocess.run(
        ["gcc", *flags, *checked, *sources, "-o", str(program), "-ldl"], check=True, timeout=120
    )
    libva = tmp_path / "libva.so.2"
    fake = str(HERE / "native" / "fake_libva.c")
    subprocess.run(
        ["gcc", *flags, "-shared", "-fPIC", fake, "-o", str(libva)], check=True, timeout=120
    )
    # Without what the software devices preload, which is not built for sanitizers.
    done = subprocess.run(
        [str(program)],
        env={"LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.usefixtures("device")
def test_two_threads_wait_in_all_ways(tmp_path: Path) -> None:
    """Over the real runtime, whose own waits soon stand still then."""
    program = str(tmp_path / "waits_in_threads")
    source = str(HERE / "native" / "waits_in_threads.c")
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]
    # The loader needs libraries that are preloaded when the program runs.
    link = ["-l:libOpenCL.so.1", "-Wl,--unresolved-symbols=ignore-in-shared-libs"]
    subprocess.run(
        ["gcc", *flags, source, "-o", program, *link],
        env={**os.environ, "LIBRARY_PATH": os.environ["LD_LIBRARY_PATH"]},
        check=True,
        timeout=120,
    )
    done = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_what_is_declared_of_libva_is_what_its_headers_declare(tmp_path: Path) -> None:
    if not Path("/usr/include/va/va_drmcommon.h").is_file():
        pytest.skip("missing package libva-dev: apt install libva-dev")
    source = str(HERE / "native" / "va_abi_test.c")
    command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-c", source]
    subprocess.run([*command, "-o", str(tmp_path / "va_abi_test.o")], check=True, timeout=120)


def test_the_layer_keeps_the_loader_that_started_it(
    tmp_path: Path, layer_file: Path, run_python: Callable[..., str]
) -> None:
    loader = tmp_path / "loader.so"
    source = str(HERE / "native" / "loader_that_leaves.c")
    command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, source, "-o", str(loader)], check=True, timeout=120)
    printed = run_python(
        "import ctypes, _ctypes, pathlib\n"
        f"layer = ctypes.CDLL({str(layer_file)!r})\n"
        f"loader = ctypes.CDLL({str(loader)!r})\n"
        "table = ctypes.c_void_p()\n"
        "assert loader.start(layer.clInitLayer, ctypes.byref(table)) == 0\n"
        "_ctypes.dlclose(loader._handle)\n"
        f"print({str(loader)!r} in pathlib.Path('/proc/self/maps').read_text())\n"
        "print(loader.list(table))\n"
    )
    assert printed.split() == ["True", "-1"]
