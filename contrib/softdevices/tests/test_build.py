# SPDX-License-Identifier: Apache-2.0
"""The build of the native libraries: what it makes, and what it says when it cannot."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
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


def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")


def test_every_library_has_its_sources(build: Any) -> None:
    for library in build.LIBRARIES:
        assert list((ROOT / library.folder).glob("*.c")), library.name
        assert library.name.endswith(".so")


def test_the_sources_compile_without_a_warning(
    build: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in build.LIBRARIES:
        monkeypatch.setenv("CC", "gcc -Werror")
        try:
            build.build_library(library, ROOT, tmp_path)
        except build.BuildError as error:
            if "is missing" in str(error) or "no C compiler" in str(error):
                pytest.skip(f"missing package {library.package}: apt install gcc {library.package}")
            raise
        assert (tmp_path / library.name).is_file()


def test_a_library_is_built(build: Any, library: Any, tmp_path: Path) -> None:
    target = tmp_path / "lib"
    target.mkdir()
    build.build_library(library, tmp_path, target)
    assert [path.name for path in target.iterdir()] == ["libone.so"]
    assert (target / "libone.so").read_bytes()[:4] == b"\x7fELF"


def test_a_missing_compiler_is_told_with_its_cure(
    build: Any, library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_compiler(monkeypatch)
    with pytest.raises(build.BuildError, match="no C compiler no-such-compiler") as caught:
        build.build_library(library, tmp_path, tmp_path)
    assert "`apt install gcc libc6-dev`, then pip install --force" in str(caught.value)


def test_a_missing_header_is_told_with_its_cure(build: Any, library: Any, tmp_path: Path) -> None:
    needs = library._replace(header="none/such.h", package="such-dev")
    with pytest.raises(build.BuildError, match=r"header none/such\.h is missing") as caught:
        build.build_library(needs, tmp_path, tmp_path)
    assert "apt install gcc such-dev" in str(caught.value)


def test_what_the_compiler_says_is_told(build: Any, library: Any, tmp_path: Path) -> None:
    (tmp_path / "csrc/one/bad.c").write_text("this is not C\n")
    with pytest.raises(build.BuildError, match=r"gcc failed:(?s:.)*bad\.c"):
        build.build_library(library, tmp_path, tmp_path)


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


def test_nothing_at_all_fails_the_installation(
    build: Any, library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_compiler(monkeypatch)
    monkeypatch.setattr(build, "LIBRARIES", (library,))
    with pytest.raises(build.BuildError, match="apt install gcc"):
        build.build_all(tmp_path, tmp_path / "lib")


@pytest.mark.usefixtures("build")
@pytest.mark.wheel
def test_a_wheel_made_of_the_sdist_holds_the_library(tmp_path: Path) -> None:
    import sys
    import zipfile

    if importlib.util.find_spec("build") is None:
        pytest.skip("missing package build: pip install build")
    if shutil.which("gcc") is None:
        pytest.skip("missing package gcc: apt install gcc")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    assert "-py3-none-linux_" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    for library in ("libsoftgpu.so", "softva_drv_video.so", "libsoftva_drm.so"):
        assert f"samebytes_softdevices/_lib/{library}" in names
    assert not [name for name in names if name.endswith((".c", ".missing"))]
