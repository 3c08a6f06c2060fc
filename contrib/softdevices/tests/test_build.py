# SPDX-License-Identifier: Apache-2.0
"""The build of the native libraries: what it makes, and what it says when it cannot."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "csrc").exists(),
    reason="the C sources lie in the repository, and this is a test of the wheel",
)


@pytest.fixture(scope="module")
def build() -> Any:
    """The module hatch_build.py, as hatchling loads it."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("missing package hatchling: pip install hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def library(build: Any, tmp_path: Path) -> Any:
    """A small library that needs nothing but a compiler."""
    source = tmp_path / "csrc" / "one"
    source.mkdir(parents=True)
    (source / "one.c").write_text("int one(void) { return 1; }\n")
    return build.Library("libone.so", "csrc/one", "stdio.h", "libc6-dev")


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A PATH on which no program is, as on a machine that has no gcc."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


def compiler_of_ours(folder: Path, script: str) -> str:
    """A program that stands for the C compiler."""
    program = folder / "cc"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_every_library_has_its_sources(build: Any) -> None:
    for library in build.LIBRARIES:
        assert list((ROOT / library.folder).glob("*.c")), library.name
        assert library.name.endswith(".so")


def test_a_library_is_built(build: Any, library: Any, tmp_path: Path) -> None:
    target = tmp_path / "lib"
    target.mkdir()
    build.build_library(library, tmp_path, target)
    assert [path.name for path in target.iterdir()] == ["libone.so"]
    assert (target / "libone.so").read_bytes()[:4] == b"\x7fELF"


@pytest.mark.usefixtures("no_compiler")
def test_a_missing_compiler_is_reported_with_its_remedy(
    build: Any, library: Any, tmp_path: Path
) -> None:
    with pytest.raises(build.BuildError, match="there is no C compiler gcc") as caught:
        build.build_library(library, tmp_path, tmp_path)
    assert "`apt install gcc libc6-dev" in str(caught.value)
    assert "pip install --force-reinstall --no-deps --no-cache-dir" in str(caught.value)


def test_a_missing_header_is_reported_with_its_remedy(
    build: Any, library: Any, tmp_path: Path
) -> None:
    needs = library._replace(header="none/such.h", package="such-dev")
    with pytest.raises(build.BuildError, match=r"header none/such\.h is missing") as caught:
        build.build_library(needs, tmp_path, tmp_path)
    assert "apt install gcc libc6-dev such-dev" in str(caught.value)


def test_a_compiler_without_headers_of_c_is_not_a_missing_package(
    build: Any, library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "gcc -nostdinc")
    needs = library._replace(header="CL/cl_layer.h", package="opencl-c-headers")
    with pytest.raises(build.BuildError, match=r"ended with status 1:(?s:.)*stdio\.h") as caught:
        build.build_library(needs, tmp_path, tmp_path)
    assert "header CL/cl_layer.h is missing" not in str(caught.value)
    assert "If libc6-dev is missing" in str(caught.value)


def test_what_a_failing_compiler_prints_is_shown(
    build: Any, library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", compiler_of_ours(tmp_path, "echo no licence >&2; exit 3"))
    with pytest.raises(build.BuildError, match=r"cc ended with status 3:\nno licence"):
        build.build_library(library, tmp_path, tmp_path)


def test_a_compiler_that_cannot_be_run_is_reported(
    build: Any, library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path(compiler_of_ours(tmp_path, ""))
    program.write_text("#!/no/such/interpreter\n")
    monkeypatch.setenv("CC", str(program))
    with pytest.raises(build.BuildError, match=r"cannot be run: .* in the variable CC"):
        build.build_library(library, tmp_path, tmp_path)


def test_an_error_in_the_source_is_shown(build: Any, library: Any, tmp_path: Path) -> None:
    (tmp_path / "csrc/one/bad.c").write_text("this is not C\n")
    with pytest.raises(build.BuildError, match=r"gcc ended with status 1:(?s:.)*bad\.c"):
        build.build_library(library, tmp_path, tmp_path)


def test_debug_information_does_not_name_the_folder_of_the_build(
    build: Any, library: Any, tmp_path: Path
) -> None:
    build.build_library(library, tmp_path, tmp_path)
    made = (tmp_path / "libone.so").read_bytes()
    assert b"csrc/one/one.c" in made
    assert str(tmp_path).encode() not in made


def test_what_cannot_be_built_is_left_out_with_a_note(
    build: Any, library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = library._replace(name="libother.so", header="none/such.h")
    monkeypatch.setattr(build, "LIBRARIES", (library, other))
    target = tmp_path / "lib"
    target.mkdir()
    (target / "libother.so").write_bytes(b"of an earlier installation")
    (target / "libone.so.missing").write_text("of an earlier installation")
    build.build_all(tmp_path, target)
    assert sorted(path.name for path in target.iterdir()) == ["libone.so", "libother.so.missing"]
    assert "none/such.h is missing" in (target / "libother.so.missing").read_text()


@pytest.mark.usefixtures("no_compiler")
def test_every_library_that_is_missing_has_a_note(build: Any, tmp_path: Path) -> None:
    build.build_all(ROOT, tmp_path / "lib")
    made = sorted(path.name for path in (tmp_path / "lib").iterdir())
    assert made == sorted(f"{library.name}.missing" for library in build.LIBRARIES)
