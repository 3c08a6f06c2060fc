# SPDX-License-Identifier: Apache-2.0
"""The page on the design names the parts of the core that there are, and no others."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = ROOT / "sdk/src/samebytes"
TEXT = (ROOT / "docs/explanation/design.md").read_text()


def table(heading: str) -> str:
    """The first table below a heading."""
    return re.split(r"\n\n(?!\|)", TEXT.partition(f"## {heading}\n")[2].partition("\n|")[2])[0]


def test_every_package_of_the_core_is_in_the_table_of_parts() -> None:
    packages = {path.parent.name for path in CORE.glob("*/__init__.py")}
    named = set(re.findall(r"`samebytes\.(\w+)[`.]", table("The parts")))
    assert packages - named == set(), "are not in the table"
    assert {name for name in named if not (CORE / name).is_dir()} == set(), "do not exist"


def test_every_distribution_is_in_the_table_of_parts() -> None:
    first = set(re.findall(r"^\|? ?`([\w/*]+)`", table("The parts"), re.MULTILINE))
    for folder in ("backends", "contrib", "mappers", "demo"):
        assert {folder, f"{folder}/*"} & first, folder


def test_the_walk_of_a_frame_goes_through_modules_that_exist() -> None:
    walk = table("A frame on its way")
    modules = set(re.findall(r"`(_\w+\.\w+)`", walk))
    assert len(modules) >= 8
    for module in modules:
        package, name = module.split(".")
        if (CORE / package).is_dir():
            assert (CORE / package / f"{name}.py").is_file(), module
        else:
            assert f"def {name}(" in (CORE / f"{package}.py").read_text(), module
