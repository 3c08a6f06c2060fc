# SPDX-License-Identifier: Apache-2.0
"""The parts of a set-up say what the pyproject.toml files say."""

import pytest

from devtools.parts import demo_parts, development_parts, group_requirements, test_parts
from devtools.workspace import DISTRIBUTIONS

all_parts = test_parts
del test_parts  # pytest would take it for a test


def test_the_demo_follows_its_own_requirements() -> None:
    found = {part.name: part for part in demo_parts()}
    assert {"build", "samebytes-demo", "samebytes", "samebytes-mappers"} <= found.keys()
    assert all(part.required for part in found.values())
    assert not any(part.compiles_with for part in found.values())
    # Of an extra that the demo's requirement names, and not of those that tests need.
    assert any(r.startswith("opencv-python") for r in found["samebytes-opencv"].requirements)
    assert not any(r.startswith("pytest") for r in found["samebytes"].requirements)


def test_development_has_every_distribution_and_the_tools() -> None:
    found = {part.name: part for part in development_parts()}
    assert found.keys() == {"dev", *(d.name for d in DISTRIBUTIONS)}
    assert {name for name, part in found.items() if part.required} == {"dev", "samebytes"}
    assert [name for name, part in found.items() if part.compiles_with] == ["samebytes-gstreamer"]


def test_the_index_is_never_asked_for_what_is_ours() -> None:
    for part in [*demo_parts(), *all_parts()]:
        assert not [r for r in part.requirements if r.startswith("samebytes")]


@pytest.mark.parametrize("name", ["build", "dev", "arrays", "torch"])
def test_groups_are_read_with_those_they_include(name: str) -> None:
    requirements = group_requirements(name)
    assert requirements
    assert all(isinstance(r, str) for r in requirements)
    if name == "dev":
        assert set(group_requirements("build")) < set(requirements)
