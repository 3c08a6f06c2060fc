# SPDX-License-Identifier: Apache-2.0
"""`samebytes check-plugin` finds what is wrong in a declaration, and in the classes it names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from samebytes import Transfer
from samebytes.plugins import MapperSpec
from samebytes.testing.rules import BrokenRule
from samebytes.testing.rules.classes import edge_requires

if TYPE_CHECKING:
    from sdk.tests.authors.conftest import Generated

pytestmark = pytest.mark.together

Generate = Callable[[str], "Generated"]
# What is changed in which module, the rule that is broken, and a part of what is seen.
Faults = dict[str, tuple[str, str, str, str, str]]

IMPORTED = "the module can be imported"
LIGHT = "importing it is light"
PLUGIN = "PLUGIN describes the plugin, for this plugin API"
HOOKS = "hooks are spelt and marked"
SPECS = "the hooks return valid specs"
PROBE = "the probe answers in time"
WRAPS = "a native type is wrapped by a class of its level"
CONNECTS = "an edge has a mapper that connects"
REQUIRES = "an edge requires the plugins of its nodes"
ELEMENT = "an element is of one of the four kinds, under its plugin's name"

HEAD = "from __future__ import annotations\n"
CRASH = "__import__('os').kill(__import__('os').getpid(), 11)"
OWN_FRAMEWORK = """\
    packages={"samebytes_alpha.blocks": ""},
    probe="""
DEVICES = """\
            devices="samebytes_alpha.blocks:Block",
            node="""

DECLARATION: Faults = {
    "an import that raises": (
        "_plugin.py", HEAD, f"{HEAD}raise RuntimeError('at home')\n", IMPORTED, "at home",
    ),
    "an import that crashes": (
        "_plugin.py", HEAD, f"{HEAD}{CRASH}\n", IMPORTED, "ended the process: SIGSEGV",
    ),
    "an import that ends the process": (
        "_plugin.py", HEAD, f"{HEAD}__import__('os')._exit(0)\n", IMPORTED,
        "ended the process with status 0",
    ),
    "a heavy import": (
        "_plugin.py", HEAD, f"{HEAD}import made_up_framework\n", LIGHT, "made_up_framework",
    ),
    "a heavy __init__.py": (
        "__init__.py", HEAD, f"{HEAD}import made_up_framework\n", LIGHT, "made_up_framework",
    ),
    "its own framework": (
        "_plugin.py", "    probe=",
        OWN_FRAMEWORK, LIGHT, "samebytes_alpha.blocks",
    ),
    "another API": ("_plugin.py", "api=(1, 0)", "api=(2, 0)", PLUGIN, "plugin API (2, 0)"),
    "no summary": (
        "_plugin.py", "Alpha: blocks of host memory", "", PLUGIN, "its summary is empty",
    ),
    "a misspelt hook": (
        "_plugin.py", "def samebytes_mappers", "def samebytes_mapers", HOOKS,
        "did you mean 'samebytes_mappers'",
    ),
    "an unmarked hook": (
        "_plugin.py", "@hookimpl\ndef samebytes_tensors", "def samebytes_tensors", HOOKS,
        "lacks @samebytes.plugins.hookimpl",
    ),
    "a nonsensical spec": (
        "_plugin.py", "target=\"cpu\",", 'target="cpu", access="rw",', SPECS,
        "access 'rw' is not a tuple",
    ),
    "no hook at all": (
        "_plugin.py", "@hookimpl\ndef samebytes_", "def _", SPECS, "declares no native type",
    ),
}  # fmt: skip

CLASSES: Faults = {
    "a class that is not there": (
        "_plugin.py", "_memory:AlphaTensor", "_memory:AlhpaTensor", WRAPS, "AttributeError",
    ),
    "a class of another kind": (
        "_plugin.py", "_memory:AlphaTensor", "_memory:AlphaContext", WRAPS,
        "is not a subclass of Tensor",
    ),
    "a class that cannot wrap": (
        "_memory.py", "def wrap(", "def wrapp(", WRAPS, "AlphaTensor has no wrap()",
    ),
    "a type by another name": (
        "_plugin.py", '"samebytes_alpha.blocks.Block"', '"samebytes_alpha.Block"',
        "a native type is spelt as it spells itself", "calls itself samebytes_alpha.blocks.Block",
    ),
    "another node": (
        "_memory.py", 'node = "alpha"', 'node = "alhpa"',
        "a context has the class that its node declares", "its node is 'alhpa'",
    ),
    "no connect": (
        "_mappers.py", "def connect(", "def conect(", CONNECTS, "has no connect()",
    ),
    "no slots": (
        "_mappers.py", "    __slots__ = ()\n", "", CONNECTS, "has no __slots__ of its own",
    ),
    "an edge without a word": (
        "_plugin.py", "the block's own array", "", CONNECTS, "its summary is empty",
    ),
    "an edge to a node of nobody's": (
        "_plugin.py", 'target="cpu"', 'target="nobodys"', REQUIRES, "requires= names none",
    ),
    "a broken list of devices": (
        "_plugin.py", "            node=", DEVICES, "the devices can be listed", "TypeError",
    ),
}  # fmt: skip

ELEMENTS: Faults = {
    "a class that is not there": (
        "_plugin.py", ":Brighten", ":Brihgten", ELEMENT, "AttributeError",
    ),
    "a class of another kind": (
        "brighten.py", "(el.TransformInplace)", "", ELEMENT, "is not a subclass of Element",
    ),
    "no kind": ("brighten.py", "el.TransformInplace", "el.Element", ELEMENT, "is not a Source"),
    "no process": ("brighten.py", "def process(", "def proces(", ELEMENT, "has no process()"),
    "another's name": (
        "_plugin.py", 'name="alpha', 'name="ffmpeg', ELEMENT, "begin with 'alpha'",
    ),
    "no word of it": (
        "_plugin.py", "makes pictures brighter, in place", "", ELEMENT, "its summary is empty",
    ),
    "a type that is not there": (
        "brighten.py", "Annotated[int", "Annotated[Integer", ELEMENT, "Integer",
    ),
}  # fmt: skip

PROBES: Faults = {
    "one that raises": (
        "_probe.py", "    try:\n", "    raise ValueError('today')\n    try:\n", PROBE, "today",
    ),
    "one that crashes": (
        "_probe.py", "    try:\n", f"    {CRASH}\n    try:\n", PROBE,
        "its probe ended the process: SIGSEGV",
    ),
    "a no without a hint": ("_probe.py", "usable=True", "usable=False", PROBE, "without a hint"),
    "a no without a reason": (
        "_probe.py", "usable=True, reason=", "usable=False, hint=", PROBE, "without a reason",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DECLARATION)
def test_in_the_declaration(name: str, generate: Generate) -> None:
    file, old, new, rule, reported = DECLARATION[name]
    generated = generate("alpha")
    generated.site.module("made_up_framework", "")
    generated.change(file, old, new)
    if new == OWN_FRAMEWORK:
        generated.change("__init__.py", HEAD, f"{HEAD}from .blocks import Block\n")
    assert reported in generated.faults("declaration", "samebytes_alpha._plugin")[rule]


@pytest.mark.parametrize("name", CLASSES)
def test_in_the_classes(name: str, generate: Generate) -> None:
    file, old, new, rule, reported = CLASSES[name]
    generated = generate("alpha")
    generated.change(file, old, new)
    assert reported in generated.faults("classes")[rule]


@pytest.mark.parametrize("name", ELEMENTS)
def test_in_the_elements(name: str, generate_element: Generate) -> None:
    file, old, new, rule, reported = ELEMENTS[name]
    generated = generate_element("alpha")
    generated.change(file, old, new)
    assert reported in generated.faults("classes")[rule]


def test_elements_of_an_older_api(generate_element: Generate) -> None:
    generated = generate_element("alpha")
    generated.change("_plugin.py", "api=(1, 1)", "api=(1, 0)")
    broken = generated.faults("declaration", "samebytes_alpha._plugin")
    assert "samebytes_elements needs PLUGIN = Plugin(api=(1, 1))" in broken[PLUGIN]


@pytest.mark.parametrize("name", PROBES)
def test_in_the_probe(name: str, generate: Generate) -> None:
    file, old, new, rule, reported = PROBES[name]
    generated = generate("alpha")
    generated.change(file, old, new)
    assert reported in generated.faults("probe")[rule]


def test_a_taken_name(generate: Generate) -> None:
    generated = generate("alpha")
    generated.change("_plugin.py", '"samebytes_alpha.blocks.Block"', '"numpy.ndarray"')
    reported = generated.faults("tables")["it gets along with the other plugins"]
    assert "it declares the native type 'numpy.ndarray' that plugin 'cpu' holds" in reported


@pytest.mark.parametrize(
    ("requires", "owners", "reported"),
    [
        ((), {"mine": "mine", "dma": "dma"}, "'dma' is plugin dma's, which requires= does not"),
        (("opencl",), {"mine": "mine", "dma": "dma"}, "'dma' is plugin dma's"),
        (("dma>=0.1,<1",), {"mine": "mine", "dma": "dma"}, None),
        (("dma>=0.1,<1",), {"mine": "mine"}, None),
        ((), {"mine": "mine", "dma": "cpu"}, None),
        ((), {"mine": "mine", "dma": "mine"}, None),
    ],
)
def test_an_edge_requires_the_plugins_of_its_nodes(
    requires: tuple[str, ...], owners: dict[str, str], reported: str | None
) -> None:
    spec = MapperSpec(
        source="mine", target="dma", mapper="no:Class", transfer=Transfer.MAP, summary="by hand",
        requires=requires,
    )  # fmt: skip
    if reported is None:
        edge_requires(spec, "mine", owners)
        return
    with pytest.raises(BrokenRule, match=reported):
        edge_requires(spec, "mine", owners)
