# SPDX-License-Identifier: Apache-2.0
"""Native types that a plugin names wrongly: what the files of the framework show."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

import samebytes as sb
from samebytes._plugins import native_names
from samebytes._plugins.native_names import without_importing

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

_FRAMEWORK = """
import os
from collections import OrderedDict as Ordered
from collections import Counter, deque as Deque
class Buffer:
    class Part: pass
if os.name == "no such":
    class Elsewhere: pass
raise RuntimeError("nobody may import this")
"""


@pytest.fixture
def framework(site: Site) -> Site:
    site.module("made_up", _FRAMEWORK)
    site.module("made_lazily", "def __getattr__(name): raise RuntimeError\n")
    return site


@pytest.mark.parametrize(
    ("native", "wrong"),
    [
        ("made_up.Buffer", None),
        ("made_up.Buffer.Part", None),
        ("made_up.Elsewhere", None),
        ("made_up.Ordered", None),
        ("made_up.OrderedDict", "made_up does not define that name"),
        ("made_up.Deque", None),
        ("made_up.buffer", "made_up does not define that name: it has Buffer"),
        ("made_up.Bufer", "made_up does not define that name"),
        ("made_lazily.Buffer", None),
        ("not_installed.Buffer", None),
        ("numpy.ndarray", None),
        ("collections.abc.sequence", "it has Sequence"),
        ("samebytes._core.memory.tensor.Tensor", None),
        ("samebytes._core.tensr.Tensor", "samebytes._core does not define that name"),
        ("samebytes.Tensor", "the type calls itself samebytes._core.memory.tensor.Tensor"),
        ("samebytes.context", "is not a type"),
    ],
)
@pytest.mark.usefixtures("framework")
def test_names(native: str, wrong: str | None) -> None:
    _ = sb.Tensor, sb.context  # names of a lazy module are in it once they were used
    found = without_importing(native)
    assert (found is None) == (wrong is None)
    assert wrong is None or wrong in str(found)
    assert "made_up" not in sys.modules


def test_listed(framework: Site) -> None:
    framework.plugin(
        "alpha",
        """
@hookimpl
def samebytes_tensors():
    return [NativeSpec(native="made_up.buffer", wraps="made_up:Wraps", level="tensor")]
""",
    )
    (alpha,) = [p for p in sb.installed_plugins() if p.name == "alpha"]
    assert alpha.state == "ready"
    (warning,) = alpha.warnings
    assert "made_up.buffer" in warning
    assert "it has Buffer" in warning


def test_installed_plugins_have_no_warnings() -> None:
    assert {p.name: p.warnings for p in sb.installed_plugins() if p.warnings} == {}


def test_modules_that_look_names_up_by_a_method_are_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Lazy(ModuleType):
        def __getattr__(self, name: str) -> None:
            pytest.fail(f"{name} was looked up")

    package = ModuleType("made_up_package")
    vars(package)["Gst"] = Lazy("made_up_package.Gst")
    monkeypatch.setitem(sys.modules, "made_up_package", package)
    monkeypatch.setattr(
        native_names, "_spec", lambda name, _: name == "made_up_package" and ModuleSpec(name, None)
    )
    assert without_importing("made_up_package.Gst.Sample") is None


def test_modules_of_import_hooks_are_not_known_before_they_are_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    package = ModuleType("made_up_package")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "made_up_package", package)
    monkeypatch.setattr(native_names, "_spec", lambda *_: ModuleSpec("made_up_package", None))
    assert without_importing("made_up_package.Gst.Sample") is None
