# SPDX-License-Identifier: Apache-2.0
"""`samebytes new-backend`: names, and what it writes, which passes its own tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import samebytes
from samebytes._authors.names import NewBackendError, names_of
from samebytes._authors.package import new_package
from samebytes._cli import main

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

Capture = pytest.CaptureFixture[str]

LONGEST = "arena_of_shared_pages_xy"


def test_names() -> None:
    names = names_of("shared_pages2")
    assert names.distribution == "samebytes-shared-pages2"
    assert names.package == "samebytes_shared_pages2"
    assert (names.classes, names.constant) == ("SharedPages2", "SHARED_PAGES2")
    assert len(names_of(LONGEST).memory_type) == len(LONGEST)


@pytest.mark.parametrize(
    "name",
    ["", "Pages", "2pages", "shared-pages", "shared__pages", "_pages", "pages_", "pagés", "a b",
     "../pages", "pages\n", f"{LONGEST}z"],
)  # fmt: skip
def test_no_names(name: str) -> None:
    with pytest.raises(NewBackendError, match="is not a name for a memory type"):
        names_of(name)


def test_taken_names(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NewBackendError, match="'cpu' is taken: a plugin of samebytes"):
        names_of("cpu")
    with pytest.raises(NewBackendError, match="'level_zero' is taken"):
        names_of("level_zero")  # whether it is installed or not
    with pytest.raises(NewBackendError, match="'host' is taken: it is a part of samebytes"):
        names_of("host")
    site.plugin("alpha", "raise RuntimeError\n")
    with pytest.raises(NewBackendError, match="a plugin of alpha-dist has this name"):
        names_of("alpha")
    node = 'ContextSpec(node="gamma:GPU", context="a:B")'
    site.plugin("beta", f"@hookimpl\ndef samebytes_contexts(): return [{node}]\n")
    with pytest.raises(NewBackendError, match="'gamma' is taken: the plugin 'beta' has"):
        names_of("gamma")
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "delta")
    samebytes.refresh()
    names_of("delta")  # chosen, and not installed


def test_the_command(site: Site, tmp_path: Path, capsys: Capture) -> None:
    assert site.path == tmp_path
    place = tmp_path / "not" / "there yet"
    assert main(["new-backend", "pages", "--into", str(place)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{place / 'samebytes-pages'} is written")
    assert "samebytes check-plugin pages" in out
    assert main(["new-backend", "pages", "--into", str(place)]) == 1
    assert "is there already: choose another name or --into" in capsys.readouterr().err
    assert main(["new-backend", "Pages"]) == 1
    assert capsys.readouterr().err.startswith("samebytes: 'Pages' is not a name")
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
    assert "'Blurs' is not a name for a plugin: small" in capsys.readouterr().err


def test_nothing_is_written_over(site: Site, tmp_path: Path) -> None:
    assert site.path == tmp_path
    (tmp_path / "samebytes-pages").symlink_to(tmp_path / "nowhere")
    with pytest.raises(NewBackendError, match="is there already"):
        new_package("pages", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(NewBackendError, match="cannot be written"):
        new_package("pages", tmp_path / "file")


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
