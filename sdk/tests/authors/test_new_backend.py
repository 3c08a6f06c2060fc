# SPDX-License-Identifier: Apache-2.0
"""`samebytes new-backend`: names, and what it writes, which passes its own tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import samebytes
from samebytes.__main__ import main
from samebytes.errors import UnsupportedObjectError

if TYPE_CHECKING:
    from sdk.tests.authors.conftest import Generated
    from sdk.tests.conftest import Site

Capture = pytest.CaptureFixture[str]

LONGEST = "arena_of_shared_pages_xy"


Refused = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path, capsys: Capture) -> Refused:
    """A function that has the command refuse a name, and returns its message."""

    def said(name: str, into: Path = tmp_path) -> str:
        assert main(["new-backend", name, "--into", str(into)]) == 1
        return capsys.readouterr().err

    return said


def test_names(site: Site, tmp_path: Path) -> None:
    assert site.path == tmp_path
    assert main(["new-backend", "shared_pages2", "--into", str(tmp_path)]) == 0
    package = tmp_path / "samebytes-shared-pages2" / "src" / "samebytes_shared_pages2"
    written = "".join(path.read_text() for path in package.rglob("*.py"))
    assert "class SharedPages2Context(" in written
    assert "SHARED_PAGES2" in written
    assert main(["new-backend", LONGEST, "--into", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    "name",
    ["", "Pages", "2pages", "shared-pages", "shared__pages", "_pages", "pages_", "pagés", "a b",
     "../pages", "pages\n", f"{LONGEST}z"],
)  # fmt: skip
def test_no_names(name: str, refused: Refused) -> None:
    assert "cannot be the name of a memory type" in refused(name)


def test_taken_names(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    assert "'cpu' is taken: a plugin of samebytes" in refused("cpu")
    assert "'level_zero' is taken" in refused("level_zero")  # whether it is installed or not
    assert "'host' is taken: it is a part of samebytes" in refused("host")
    site.plugin("alpha", "raise RuntimeError\n")
    assert "a plugin of alpha-dist has this name" in refused("alpha")
    node = 'ContextSpec(node="gamma:GPU", context="a:B")'
    site.plugin("beta", f"@hookimpl\ndef samebytes_contexts(): return [{node}]\n")
    assert "'gamma' is taken: the plugin 'beta' has" in refused("gamma")
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "delta")
    samebytes.refresh()
    assert main(["new-backend", "delta", "--into", str(tmp_path)]) == 0  # not installed


def test_the_command(site: Site, tmp_path: Path, capsys: Capture) -> None:
    assert site.path == tmp_path
    place = tmp_path / "not" / "there yet"
    assert main(["new-backend", "pages", "--into", str(place)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{place / 'samebytes-pages'} is written")
    assert "samebytes check-plugin pages" in out
    assert main(["new-backend", "pages", "--into", str(place)]) == 1
    assert "already exists: choose another name or --into" in capsys.readouterr().err
    assert main(["new-backend", "Pages"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("samebytes: 'Pages' cannot be the name of a memory type")
    assert main(["new-backend"]) == 2


def test_the_command_for_an_element(site: Site, tmp_path: Path, capsys: Capture) -> None:
    assert site.path == tmp_path
    assert main(["new-backend", "--element", "blurs", "--into", str(tmp_path)]) == 0
    assert "samebytes check-plugin blurs" in capsys.readouterr().out
    folder = tmp_path / "samebytes-blurs" / "src" / "samebytes_blurs"
    assert {path.name for path in folder.glob("*.py")} == {
        "__init__.py", "_plugin.py", "brighten.py",
    }  # fmt: skip
    assert main(["new-backend", "--element", "Blurs"]) == 1
    assert "'Blurs' cannot be the name of a plugin: use small" in capsys.readouterr().err


def test_nothing_is_written_over(site: Site, tmp_path: Path, refused: Refused) -> None:
    assert site.path == tmp_path
    (tmp_path / "samebytes-pages").symlink_to(tmp_path / "nowhere")
    assert "already exists" in refused("pages")
    (tmp_path / "file").write_text("")
    assert "cannot be written" in refused("pages", tmp_path / "file")


KINDS = pytest.mark.parametrize("kind", ["generate", "generate_element"])


@KINDS
def test_every_place_is_filled(kind: str, request: pytest.FixtureRequest) -> None:
    generated = request.getfixturevalue(kind)("alpha")
    files = [path for path in generated.folder.rglob("*") if path.is_file()]
    assert len(files) > 8
    for path in files:
        text = path.read_text()
        assert "$" not in text.replace("${{", ""), path
        assert not any(word in text for word in ("TODO", "FIXME", "SPDX-License")), path
    assert (generated.folder / "src" / "samebytes_alpha" / "py.typed").exists()
    assert "python: [" in (generated.folder / ".github" / "workflows" / "test.yml").read_text()


@pytest.mark.slow
@KINDS
@pytest.mark.together
def test_it_passes_its_own_tests(kind: str, request: pytest.FixtureRequest) -> None:
    generated = request.getfixturevalue(kind)("shared_pages")
    generated.install()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=generated.folder, env={**os.environ, "PYTHONPATH": str(generated.site.path)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    out = done.stdout
    assert done.returncode == 0, out
    assert " passed" in out
    assert "skipped" not in out


@KINDS
def test_its_readme_runs(kind: str, request: pytest.FixtureRequest) -> None:
    generated = request.getfixturevalue(kind)("shared_pages")
    generated.install()
    text = (generated.folder / "README.md").read_text()
    code = text.split("```python\n")[1].split("```")[0]
    done = generated.site.python("-W", "error", "-c", code)
    assert done.returncode == 0, done.stderr


def test_planes_of_its_type_are_to_be_mapped_first(generate: Callable[..., Generated]) -> None:
    generate("alpha").install()
    block: Any = import_module("samebytes_alpha").Block
    luma, chroma = block(np.zeros((4, 4), "uint8")), block(np.zeros((2, 2, 2), "uint8"))
    message = 'arrays in CPU memory, not alpha: map each to "cpu" first'
    for planes in ([luma, chroma], [luma.array, chroma], [samebytes.tensor(luma), chroma]):
        with pytest.raises(UnsupportedObjectError, match=message):
            samebytes.frame(planes, format="NV12")
    with pytest.raises(UnsupportedObjectError, match=message):
        samebytes.frame(luma, format="GRAY8")
    there = [samebytes.tensor(plane).map("cpu", "rw") for plane in (luma, chroma)]
    there[1].native[...] = 7
    assert samebytes.frame(there, format="NV12").planes[1].map("cpu").native.min() == 7
    assert (chroma.array == 7).all()
    with pytest.raises(UnsupportedObjectError, match="does not share its memory"):
        samebytes.frame([luma.array, object()], format="NV12")
    with pytest.raises(UnsupportedObjectError, match=r"AudioInfo, not 'stereo'"):
        samebytes.frame([luma.array], audio="stereo")  # type: ignore[arg-type]  # no AudioInfo
