# SPDX-License-Identifier: Apache-2.0
"""A third party's backend beside others: found, routed through, listed, diagnosed, harmless.

"left" and "right" are memory types of two other plugins, between which nothing leads. The third
party's stands in the middle. Each is a generated package: they know each other's names alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.__main__ import main
from samebytes.errors import NoRouteError

if TYPE_CHECKING:
    from sdk.tests.authors.conftest import Generated
    from sdk.tests.conftest import Site

Generate = Callable[[str], "Generated"]
Capture = pytest.CaptureFixture[str]

ENDS = ("left", "right")
LAST_LINE = "    ]\n"
# What the third party adds to its package: an edge from one, an edge to the other.
EDGES = """
        MapperSpec(
            source="left",
            target="middle",
            mapper="samebytes_middle._between:LeftToMiddle",
            transfer=Transfer.ALIAS,
            summary="a block over the left one's array",
            requires=("left>=0.1,<1",),
        ),
        MapperSpec(
            source="middle",
            target="right",
            mapper="samebytes_middle._between:MiddleToRight",
            transfer=Transfer.ALIAS,
            summary="a right one over the block's array",
            requires=("right>=0.1,<1",),
        ),
    ]
"""
BETWEEN = '''
"""The edges to two other backends."""

from samebytes import MemoryMapper
from samebytes_middle.blocks import Block


class LeftToMiddle(MemoryMapper):
    __slots__ = ()

    def connect(self, item, access):
        block = Block(item.host_array())
        return block.as_readonly() if access == "r" else block, item.info, None


class MiddleToRight(MemoryMapper):
    __slots__ = ()

    def connect(self, item, access):
        from samebytes_right import Block as RightBlock

        block = RightBlock(item.host_array())
        return block.as_readonly() if access == "r" else block, item.info, None
'''


def without_edges(generated: Generated) -> None:
    """Take away its edges to and from CPU memory."""
    generated.change(
        "_plugin.py",
        "    return [\n        MapperSpec(",
        "    return []\n    _ = [\n        MapperSpec(",
    )


@pytest.fixture
def ends(generate: Generate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two other plugins, in use."""
    for name in ENDS:
        generated = generate(name)
        without_edges(generated)
        generated.install()
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "left,middle,right")
    sb.refresh()


@pytest.fixture
def middle(ends: None, generate: Generate, monkeypatch: pytest.MonkeyPatch) -> Generated:
    """The third party's package, not installed yet."""
    assert ends is None
    generated = generate("middle")
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "left,middle,right")
    folder = generated.folder / "src" / "samebytes_middle"
    (folder / "_between.py").write_text(BETWEEN.lstrip())
    generated.change(
        "_plugin.py", 'own array",\n        ),\n    ]\n', f'own array",\n        ),{EDGES}'
    )
    return generated


def left_tensor() -> sb.Tensor:
    from samebytes_left import Block  # type: ignore[import-not-found]  # written by this test

    return sb.tensor(Block(np.arange(12, dtype="int32").reshape(3, 4)))


def printed(capsys: Capture, *arguments: str, status: int = 0) -> Any:
    assert main([*arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("ends")
def test_without_it_nothing_leads_there() -> None:
    with pytest.raises(NoRouteError):
        left_tensor().map("right")


def test_it_is_routed_through(middle: Generated) -> None:
    middle.install()
    route = sb.route("left", "right")
    assert [hop.spec.name for hop in route.hops] == ["left -> middle", "middle -> right"]
    assert not route.copies
    tensor = left_tensor()
    mapped = tensor.map("right", "rw")
    assert type(mapped.native).__module__ == "samebytes_right.blocks"
    assert mapped.native.array.ctypes.data == tensor.native.array.ctypes.data
    mapped.native.array[0] = 77
    assert (tensor.native.array[0] == 77).all()
    assert sb.stats().copies == 0
    reading = tensor.map("right")
    assert reading.readonly
    assert not reading.native.array.flags.writeable


def test_it_is_listed_and_diagnosed(middle: Generated, capsys: Capture) -> None:
    middle.install()
    plugins = {p["name"]: p for p in printed(capsys, "list")["plugins"]}
    assert plugins["middle"]["state"] == "ready"
    assert plugins["middle"]["memory_types"] == ["middle"]
    edges = {f"{e['source']} -> {e['target']}" for e in plugins["middle"]["edges"]}
    assert edges == {"cpu -> middle", "middle -> cpu", "left -> middle", "middle -> right"}
    (found,) = printed(capsys, "doctor", "middle")["plugins"]
    assert (found["usable"], found["reason"]) == (True, "pages of 4096 bytes")
    route = printed(capsys, "route", "left", "right")["route"]
    assert [hop["target"] for hop in route["hops"]] == ["middle", "right"]


@pytest.mark.together
def test_it_is_checked(middle: Generated, capsys: Capture) -> None:
    middle.install()
    report = printed(capsys, "check-plugin", "middle")
    assert {f["outcome"] for f in report["findings"]} == {"passed"}
    assert {"left -> middle", "middle -> right"} <= {f["subject"] for f in report["findings"]}


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (
            "_plugin.py",
            "PLUGIN =",
            "raise RuntimeError('at home')\nPLUGIN =",
            "no installed plugin maps tensors to right",
        ),
        ("_plugin.py", "api=(1, 0)", "api=(9, 0)", "no installed plugin maps tensors to right"),
        (
            "_plugin.py",
            "def samebytes_mappers",
            "def samebytes_mapers",
            "no installed plugin maps tensors to right",
        ),
        ("_between.py", "class LeftToMiddle", "class Nothing", "plugin 'middle': loading"),
        ("_between.py", "item.host_array()", "item.nothing", "no attribute 'nothing'"),
    ],
)
@pytest.mark.together
def test_a_broken_version_harms_nobody(
    middle: Generated, capsys: Capture, file: str, old: str, new: str, expected: str
) -> None:
    middle.change(file, old, new)
    middle.install()
    tensor = left_tensor()
    assert tensor.map("left").shape == (3, 4)
    assert sb.tensor(np.zeros(4)).map("cpu").shape == (4,)
    with pytest.raises((sb.SamebytesError, AttributeError), match=expected):
        tensor.map("right")
    report = printed(capsys, "check-plugin", "middle", status=1)
    assert any(f["outcome"] == "failed" for f in report["findings"])
    states = {p["name"]: p["state"] for p in printed(capsys, "list")["plugins"]}
    assert (states["left"], states["right"], states["cpu"]) == ("ready", "ready", "ready")
    assert printed(capsys, "doctor", "left")["plugins"][0]["usable"]


def test_what_it_needs_is_named_where_it_is_missing(
    generate: Generate, middle: Generated, site: Site
) -> None:
    middle.change("_plugin.py", "right>=0.1,<1", "right>=3")
    middle.install()
    assert site.path.is_dir()
    assert generate is not None
    with pytest.raises(NoRouteError, match=r"it needs right>=3, and samebytes-right 0\.1\.0 is"):
        left_tensor().map("right")
