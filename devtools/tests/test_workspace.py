# SPDX-License-Identifier: Apache-2.0
"""The lists of distributions agree: devtools' own, the root pyproject.toml's, and the folders."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from devtools.workspace import DISTRIBUTIONS, ROOT, Distribution


def read(folder: Path) -> dict[str, Any]:
    """A folder's pyproject.toml."""
    return tomllib.loads((folder / "pyproject.toml").read_text())


def test_every_member_of_the_workspace_is_listed() -> None:
    patterns = read(ROOT)["tool"]["uv"]["workspace"]["members"]
    members = {path.parent for p in patterns for path in ROOT.glob(f"{p}/pyproject.toml")}
    assert members == {distribution.path for distribution in DISTRIBUTIONS}


def test_the_root_knows_every_distribution() -> None:
    root = read(ROOT)
    names = {d.name for d in DISTRIBUTIONS}
    assert {d.split("[")[0] for d in root["project"]["dependencies"]} == names
    assert root["tool"]["uv"]["sources"].keys() == names
    packages = {name.replace("-", "_") for name in names}
    assert set(root["tool"]["ruff"]["lint"]["isort"]["known-first-party"]) == {
        *packages,
        "devtools",
    }
    assert set(root["tool"]["mypy"]["mypy_path"]) == {
        f"$MYPY_CONFIG_FILE_DIR/{d.folder}/src" for d in DISTRIBUTIONS
    }
    assert set(root["tool"]["pytest"]["ini_options"]["testpaths"]) == {
        *(f"{d.folder}/tests" for d in DISTRIBUTIONS),
        "devtools/tests",
        "tests",
    }


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda d: d.name)
def test_a_distribution_is_complete(distribution: Distribution) -> None:
    project = read(distribution.path)["project"]
    assert project["name"] == distribution.name
    assert project["license"] == "Apache-2.0"
    assert project["requires-python"] == ">=3.11"
    assert set(distribution.extras) <= project.get("optional-dependencies", {}).keys()
    package = distribution.path / "src" / distribution.name.replace("-", "_")
    assert (package / "py.typed").exists()
    assert (distribution.path / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
