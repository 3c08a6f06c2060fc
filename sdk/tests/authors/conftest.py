# SPDX-License-Identifier: Apache-2.0
"""Packages written by `samebytes new-backend`, where samebytes finds them without pip."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import samebytes as sb
from samebytes._authors.check import stages
from samebytes._authors.check.stages import Check
from samebytes._authors.package import new_package
from samebytes._plugins.children import Child
from samebytes.testing._forked import run

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

TIME_LIMIT_S = 60
PATIENCE_S = 500
"""The time limit for one process of a shipped plugin; no rule is about time."""
STAGES = ("samebytes._authors.check.child", "samebytes._authors.check.installed")
"""The modules of the process that runs a stage."""


class Generated:
    """A generated package.

    Attributes:
        folder: the folder that was written.
        site: the folder on sys.path to which its modules and metadata were copied.
        name: the name of the plugin.
    """

    def __init__(self, folder: Path, site: Site, name: str) -> None:
        self.folder = folder
        self.site = site
        self.name = name

    def install(self) -> None:
        """Copy the modules to the site, and write the files that pip would leave there."""
        project = tomllib.loads((self.folder / "pyproject.toml").read_text())["project"]
        shutil.copytree(self.folder / "src", self.site.path, dirs_exist_ok=True)
        points = project["entry-points"]["samebytes.plugins"]
        lines = "".join(f"{name} = {module}\n" for name, module in points.items())
        self.site.distribution(project["name"], f"[samebytes.plugins]\n{lines}", project["version"])
        sb.refresh()

    def change(self, file: str, old: str, new: str) -> None:
        """Change the text of one module before it is installed."""
        path = self.folder / "src" / f"samebytes_{self.name}" / file
        text = path.read_text()
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new))

    def faults(self, stage: str, argument: str = "") -> dict[str, str]:
        """Install the package, run one stage of check-plugin, and return the broken rules."""
        self.install()
        check = Check(self.name, TIME_LIMIT_S)
        if stage == "probe":
            check.probe({"packages": {}, "probe": f"samebytes_{self.name}._probe:probe"})
        else:
            check.stage(stage, argument)
        assert check.findings
        broken = [finding for finding in check.findings if finding.outcome == "failed"]
        assert all(finding.remedy for finding in broken)
        return {finding.rule: finding.detail for finding in broken}


class Tried(NamedTuple):
    """The outcome of one stage of check-plugin.

    Attributes:
        facts: the findings of the stage for the stages after it.
        tried: how many rules it tried.
        failed: the rules that are broken, with what was seen.
    """

    facts: dict[str, Any]
    tried: int
    failed: list[str]


@pytest.fixture
def try_stage() -> Callable[[str, str, str], Tried]:
    """`try_stage(plugin, stage, argument)` runs one stage on an installed plugin, in a process.

    The process is a copy of one that has imported the modules that all stages import. A stage
    that looks at imports gets a new process.
    """

    def copied(module: str, arguments: Sequence[str], timeout: float) -> Child:
        status, answers, noise = run(STAGES, f"{module}:main", arguments, timeout)
        return Child(status, tuple(answers.splitlines()), noise)

    def try_stage(plugin: str, stage: str, argument: str = "") -> Tried:
        check = Check(plugin, PATIENCE_S)
        if stage == "declaration":
            facts = check.stage(stage, argument)
        else:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(stages, "run_child", copied)
                facts = check.stage(stage, argument)
        failed = [
            f"{f.rule} ({f.subject}): {f.detail}" for f in check.findings if f.outcome == "failed"
        ]
        return Tried(facts, len(check.findings), failed)

    return try_stage


@pytest.fixture
def generate(
    site: Site, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Generated]:
    """Write the package of that name; once it is installed, only this plugin is in use."""

    def generate(name: str, *, element: bool = False) -> Generated:
        monkeypatch.setenv("SAMEBYTES_PLUGINS", name)
        sb.refresh()
        into = tmp_path_factory.mktemp("written")
        return Generated(new_package(name, into, element=element), site, name)

    return generate


@pytest.fixture
def generate_element(generate: Callable[..., Generated]) -> Callable[[str], Generated]:
    """Write a package with an element; otherwise like `generate`."""
    return partial(generate, element=True)
