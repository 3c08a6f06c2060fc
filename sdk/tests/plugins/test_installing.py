# SPDX-License-Identifier: Apache-2.0
"""Hints that install this project's packages name what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from samebytes.__main__ import main
from samebytes._cli import commands
from samebytes._plugins import installing
from samebytes._plugins.distributions import install_hint
from samebytes._plugins.installing import extras, working
from samebytes.errors import CopyRequiredError, MissingDependencyError, NoRouteError

HINT = 'pip install "samebytes[dma]"'


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the distributions that an extra brings."""
    for folder, name in (
        ("sdk", "samebytes"), ("backends/dma", "samebytes-dma"), ("mappers", "samebytes-mappers"),
        ("contrib/soft devices", "samebytes-softdevices"), ("contrib/v4l2", "samebytes-v4l2"),
    ):  # fmt: skip
        made = tmp_path / folder
        made.mkdir(parents=True)
        made.joinpath("pyproject.toml").write_text(f"[project]\nname = {name!r}\n")
    monkeypatch.setattr(installing, "PUBLISHED", False)
    monkeypatch.setattr(installing, "_source", lambda: tmp_path)
    return tmp_path


def test_folders_of_the_checkout(checkout: Path) -> None:
    command = working(f"for tests: {HINT}, then go on")
    assert command.startswith("for tests: pip install ")
    assert command.endswith(", then go on")
    folders = command.removeprefix("for tests: pip install ").removesuffix(", then go on").split()
    assert {*folders} == {f"{checkout}/backends/dma", f"{checkout}/mappers"}
    folder = f"{checkout}/contrib/soft devices"
    assert working("pip install samebytes-softdevices") == f"pip install '{folder}'"
    assert working('(pip install "samebytes-softdevices[gpu]")') == f'(pip install "{folder}[gpu]")'


def test_a_name_with_a_digit(checkout: Path) -> None:
    folder = f"{checkout}/contrib/v4l2"
    assert working("pip install samebytes-v4l2") == f"pip install {folder}"
    command = working('pip install "samebytes[v4l2]"')
    assert {*command.split()} == {"pip", "install", folder, f"{checkout}/mappers"}


def test_a_folder_of_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "PUBLISHED", False)
    wheel = tmp_path / "samebytes-0.1.0-py3-none-any.whl"
    wheel.touch()
    monkeypatch.setattr(installing, "_source", lambda: wheel)
    assert working(HINT) == f'pip install --find-links {tmp_path} "samebytes[dma]"'
    monkeypatch.setattr(installing, "_source", lambda: None)
    assert working(HINT) == 'pip install --find-links FOLDER_OF_WHEELS "samebytes[dma]"'


@pytest.mark.usefixtures("checkout")
def test_one_switch_says_that_the_packages_are_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "PUBLISHED", True)
    assert working(HINT) == HINT


@pytest.mark.usefixtures("checkout")
def test_other_packages_stay_as_they_are() -> None:
    for text in ("pip install av", "pip install samebytes-of-others", "apt install python3-venv"):
        assert working(text) == text


def test_errors_say_it(checkout: Path) -> None:
    error = MissingDependencyError("dma", "something", HINT)
    assert f"{checkout}/backends/dma" in error.hint
    assert str(error).endswith(error.hint)
    assert "dma" in extras()


def test_reasons_of_refused_routes_say_it(checkout: Path) -> None:
    errors = (
        NoRouteError("gstreamer", "cpu", [f"by way of dma: {HINT}"]),
        CopyRequiredError("gstreamer", "cpu", "gstreamer -> cpu", [f"by way of dma: {HINT}"]),
    )
    for error in errors:
        assert f"{checkout}/backends/dma" in error.reasons[0]
        assert error.reasons[0] in str(error)


def test_the_command_of_a_package_that_is_not_installed_says_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "entries", lambda _: [])
    assert main(["demo"]) == 2
    assert install_hint("demo") in capsys.readouterr().err
    assert main(["demo", "--anything"]) == 2
    assert main(["--help"]) == 0
    assert install_hint("demo") in " ".join(capsys.readouterr().out.split())
