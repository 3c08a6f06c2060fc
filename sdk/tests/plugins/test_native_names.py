# SPDX-License-Identifier: Apache-2.0
"""Native types that a plugin names wrongly: what the files of the framework show."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

import samebytes as sb

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
        ("numpy.dtype", None),
        ("collections.abc.sequence", "it has Sequence"),
        ("samebytes._core.memory.tensor.Tensor", None),
        ("samebytes._core.tensr.Tensor", "samebytes._core does not define that name"),
        ("samebytes.Tensor", "the type calls itself samebytes._core.memory.tensor.Tensor"),
        ("samebytes.context", "is not a type"),
    ],
)
def test_names(framework: Site, native: str, wrong: str | None) -> None:
    _ = sb.Tensor, sb.context  # names of a lazy module are in it once they were used
    found = warnings_about(framework, native)
    assert len(found) == (wrong is not None)
    assert all(native in warning and str(wrong) in warning for warning in found)
    assert "made_up" not in sys.modules


def warnings_about(site: Site, native: str) -> tuple[str, ...]:
    """The problem of a plugin that names that type; it is in use all the same."""
    site.plugin(
        "alpha",
        f"""
@hookimpl
def samebytes_tensors():
    return [NativeSpec(native={native!r}, wraps="made_up:Wraps", level="tensor")]
""",
    )
    (alpha,) = [p for p in sb.installed_plugins() if p.name == "alpha"]
    assert alpha.state == "ready"
    return alpha.warnings


def test_installed_plugins_have_no_warnings() -> None:
    assert {p.name: p.warnings for p in sb.installed_plugins() if p.warnings} == {}


def test_modules_that_look_names_up_by_a_method_are_not_asked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lazy(ModuleType):
        def __getattr__(self, name: str) -> None:
            pytest.fail(f"{name} was looked up")

    package = ModuleType("made_up_package")
    vars(package)["Gst"] = Lazy("made_up_package.Gst")
    monkeypatch.setitem(sys.modules, "made_up_package", package)
    site.module("made_up_package", "")
    assert warnings_about(site, "made_up_package.Gst.Sample") == ()


def test_modules_of_import_hooks_are_not_known_before_they_are_imported(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = ModuleType("made_up_package")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "made_up_package", package)
    (site.path / "made_up_package").mkdir()
    assert warnings_about(site, "made_up_package.Gst.Sample") == ()
