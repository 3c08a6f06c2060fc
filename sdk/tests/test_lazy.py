# SPDX-License-Identifier: Apache-2.0
"""Packages that import their modules when a name is first used."""

from __future__ import annotations

import ast
import pydoc
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import samebytes

PACKAGE = """
from samebytes.plugins import lazy_exports
__version__ = "1.0"
__all__ = ["Far", "inner", "near"]
_HOME = {"near": "._near", "Far": ".inner._far", "inner": ".inner"}
__getattr__, __dir__ = lazy_exports(__name__, _HOME)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    folder = tmp_path / "lazy_package_of_a_test"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "_near.py").write_text("near = [1]\n")
    (folder / "inner" / "__init__.py").write_text("")
    (folder / "inner" / "_far.py").write_text("class Far: ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module(folder.name)
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        del sys.modules[name]


def test_modules_are_imported_when_a_name_is_used(package: ModuleType) -> None:
    loaded = {name for name in sys.modules if name.startswith(package.__name__)}
    assert loaded == {package.__name__}
    assert package.near == [1]
    assert f"{package.__name__}._near" in sys.modules
    assert f"{package.__name__}.inner" not in sys.modules
    assert package.Far.__name__ == "Far"
    assert vars(package)["near"] is package.near  # looked for once


def test_a_module_may_be_a_name(package: ModuleType) -> None:
    assert package.inner is sys.modules[f"{package.__name__}.inner"]


def test_names(package: ModuleType) -> None:
    assert dir(package) == ["Far", "__version__", "inner", "near"]
    with pytest.raises(AttributeError, match=r"^module '\w+' has no attribute 'nearr'$") as caught:
        _ = package.nearr
    assert (caught.value.name, caught.value.obj) == ("nearr", package)
    assert not hasattr(package, "__path_of_nothing__")


@pytest.mark.parametrize(
    "made",
    [
        "samebytes.CpuContext.create(None, None).allocate((2, 2))",
        "samebytes.CpuTensor.borrowed(numpy.zeros(3), samebytes.CpuTensor.home, keep=None)",
    ],
)
def test_routes_are_found_whatever_is_imported_first(made: str) -> None:
    code = f"""
import numpy, samebytes
try:
    {made}.map("nowhere")
except LookupError as error:
    print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "UnknownNameError\n", done.stderr


def test_help_is_a_page_that_names_all_that_there_is() -> None:
    """The classes are on pages of their own, as help(samebytes.Frame)."""
    page = pydoc.plain(pydoc.render_doc(samebytes))
    words = re.findall(r"\w+", str(samebytes.__doc__))
    assert [name for name in dir(samebytes) if name not in words] == ["__version__"]
    assert len(page.splitlines()) < 100
    assert not re.search(r"samebytes\.(\w+\.)*_", page)


def test_type_checkers_see_the_names_that_are_there() -> None:
    """Their `__all__`, which does not exist at run time."""
    tree = ast.parse(Path(str(samebytes.__file__)).read_text())
    (listed,) = (
        ast.literal_eval(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    assert listed == dir(samebytes)
