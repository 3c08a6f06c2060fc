# SPDX-License-Identifier: Apache-2.0
"""PyGObject is built on the girepository that the system has, or can have."""

from pathlib import Path

import pytest

from devtools import girepository
from devtools.girepository import extras, is_new, wanted
from devtools.parts import development_parts
from devtools.system import advised_packages, to_build_pygobject

OLD, NEW = "gobject-introspection-1.0.pc", "girepository-2.0.pc"
CANDIDATE = "libgirepository-2.0-dev:\n  Installed: (none)\n  Candidate: 2.84.3-1\n"
NO_CANDIDATE = CANDIDATE.replace("2.84.3-1", "(none)")


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system where pkg-config finds nothing, and which has no apt."""
    monkeypatch.setattr(girepository, "_PKGCONFIG", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def archive(folder: Path, policy: str) -> None:
    """An apt-cache that answers this."""
    program = folder / "apt-cache"
    program.write_text(f"#!/bin/sh\n[ $1 = policy ] && printf '{policy}'\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("installed", "policy", "new"),
    [
        ([NEW], NO_CANDIDATE, True),
        ([OLD], CANDIDATE, False),  # it will do, and nothing needs to be installed
        ([OLD, NEW], NO_CANDIDATE, True),
        ([], CANDIDATE, True),
        ([], NO_CANDIDATE, False),
        ([], "", False),  # an archive that does not know the name
        ([], None, False),
    ],
)
def test_what_is_there_decides_then_what_can_be_had(
    there: Path, installed: list[str], policy: str | None, new: bool
) -> None:
    for name in installed:
        (there / name).touch()
    if policy is not None:
        archive(there, policy)
    assert is_new() is new
    assert extras() == (() if new else ("girepository1",))
    path, package = wanted()
    assert path == str(there / (NEW if new else OLD))
    assert package == ("libgirepository-2.0-dev" if new else "libgirepository1.0-dev")


@pytest.mark.parametrize("new", [False, True])
def test_the_set_up_asks_for_that_one(there: Path, new: bool) -> None:
    (there / (NEW if new else OLD)).touch()
    (part,) = [p for p in development_parts() if p.name == "samebytes-gstreamer"]
    assert ("PyGObject<3.51" in part.requirements) is not new
    assert str(there / (NEW if new else OLD)) in [w.path for w in part.compiles_with]
    package = "libgirepository-2.0-dev" if new else "libgirepository1.0-dev"
    assert package in [w.package for w in to_build_pygobject()]
    assert package in advised_packages()


def test_another_suites_packages_can_be_asked_for(there: Path) -> None:
    (there / OLD).touch()
    assert "libgirepository-2.0-dev" in advised_packages(new_girepository=True)
    assert "libgirepository1.0-dev" not in advised_packages(new_girepository=True)
