# SPDX-License-Identifier: Apache-2.0
"""Declarations of the distributions: handle keys, the API that plugins need, names of arguments."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from devtools.house_rules import imports
from devtools.workspace import CORE, DISTRIBUTIONS, Distribution, source_files

# Edges and conversions between others are loaded with both of their ends, a plugin of pytest with
# pytest; the rest is tried, with a way without it, or for type checkers.
NOT_REQUIRED = {
    "samebytes": {"prometheus_client", "torch", "typing_extensions"},
    "samebytes-mappers": {
        "av", "cv2", "openvino", "pyopencl", "samebytes_ffmpeg", "samebytes_gpu_opencl",
        "samebytes_opencv", "samebytes_openvino",
    },
    "samebytes-softdevices": {"pytest"},
    "samebytes-sycl": {"samebytes_gpu_opencl", "samebytes_npu_level_zero"},
}  # fmt: skip
KEYS = CORE.path / "src" / "samebytes" / "_core" / "owner" / "handles.py"


def test_every_key_is_served_or_read() -> None:
    paths = [p for d in DISTRIBUTIONS for p in source_files(".py", below=d.path / "src")]
    used = {text for path in paths if path != KEYS for text in texts(path)}

    assert registered() - used == set()


def registered() -> set[object]:
    """The names in the table of the core."""
    return {
        node.args[0].value
        for node in ast.walk(ast.parse(KEYS.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "HandleKey"
        if isinstance(node.args[0], ast.Constant)
    }


def texts(path: Path) -> set[object]:
    """The constants of a module."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return {n.value for n in nodes if isinstance(n, ast.Constant)}


def test_plugins_state_the_api_that_they_were_written_for() -> None:
    """In numbers, as the documentation asks of authors: `API` would follow samebytes."""
    plugins = [p for d in DISTRIBUTIONS for p in source_files("_plugin.py", below=d.path / "src")]
    stated = {path: api for path in plugins for api in apis(path)}

    assert len(stated) >= 10
    assert [str(path) for path, api in stated.items() if not isinstance(api, ast.Tuple)] == []


def apis(path: Path) -> list[ast.expr]:
    """The arguments `api=` of the calls of Plugin() in a module."""
    nodes = ast.walk(ast.parse(path.read_text()))
    calls = [n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) == "Plugin"]
    return [keyword.value for call in calls for keyword in call.keywords if keyword.arg == "api"]


def test_images_are_allocated_by_the_same_names() -> None:
    paths = [p for d in DISTRIBUTIONS for p in source_files(".py", below=d.path / "src")]
    named = [names for path in paths for names in names_of("allocate_frame", path)]

    assert len(named) >= 10
    assert {tuple(names[:4]) for names in named} == {("self", "format", "width", "height")}


def names_of(method: str, path: Path) -> list[list[str]]:
    """The names of the arguments of each definition of a method in a module."""
    nodes = ast.walk(ast.parse(path.read_text()))
    found = [n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == method]
    return [[argument.arg for argument in function.args.args] for function in found]


def test_packages_that_are_imported_are_required() -> None:
    """Also where few tests come by: most of them run with all packages installed."""
    taken = {d.name: imported(d) - provided(d.name) for d in DISTRIBUTIONS}

    assert {name: modules for name, modules in taken.items() if modules} == NOT_REQUIRED


def imported(distribution: Distribution) -> set[str]:
    """The packages of others that its modules import, at whatever moment."""
    paths = source_files(".py", below=distribution.path / "src")
    names = {name.partition(".")[0] for p in paths for _, name in imports(p.read_text())}
    return names - sys.stdlib_module_names


@cache
def provided(name: str) -> set[str]:
    """The packages that a distribution brings or requires, and those of its extras by others."""
    ours = {distribution.name: distribution for distribution in DISTRIBUTIONS}
    if name not in ours:
        return {p for p, names in installed().items() if name in map(normal, names)}
    project = tomllib.loads((ours[name].path / "pyproject.toml").read_text())["project"]
    required = {named(text) for text in project["dependencies"]}
    for texts in project.get("optional-dependencies", {}).values():
        required |= {named(text) for text in texts} - ours.keys()
    return {name.replace("-", "_")}.union(*map(provided, required))


installed = cache(packages_distributions)


def named(requirement: str) -> str:
    """The name of the distribution that a requirement is for."""
    return normal(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])


def normal(name: str) -> str:
    """The name of a distribution as packages are compared by it."""
    return re.sub(r"[-_.]+", "-", name).lower()
