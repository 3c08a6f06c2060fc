# SPDX-License-Identifier: Apache-2.0
"""Broken plugins: each is set aside with its reason, and none harms another."""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING

import pytest

import samebytes as sb
from samebytes.errors import (
    IncompatiblePluginError,
)
from samebytes.plugins import API

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdk.tests.conftest import Site

_MAKE = """
from samebytes import Context, CpuTensor, MemoryMapper, Transfer
from samebytes.plugins import *
PLUGIN = Plugin(api={api}, summary="made up")
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise RuntimeError('at home')\n", "RuntimeError: at home"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("import sys\nsys.exit('bye')\n", "SystemExit: bye"),
        ("import made_up_framework\n", "No module named 'made_up_framework'"),
        ("def broken(:\n", "SyntaxError"),
    ],
)
def test_import_raises(site: Site, reason: Callable[[str], str], code: str, expected: str) -> None:
    site.plugin("alpha", code)
    assert expected in reason("alpha")
    assert "alpha_plugin" in reason("alpha")


def test_the_line_that_raised_is_named(site: Site, reason: Callable[[str], str]) -> None:
    site.plugin("alpha", "\nraise RuntimeError\n")
    assert f"({site.path / 'alpha_plugin.py'}:6)" in reason("alpha")


def test_a_missing_module_has_no_line(site: Site, reason: Callable[[str], str]) -> None:
    site.distribution("alpha-dist", "[samebytes.plugins]\nalpha = made_up_nowhere\n")
    sb.refresh()
    assert reason("alpha").endswith("No module named 'made_up_nowhere'")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, CancelledError])
def test_interrupting_is_not_swallowed(site: Site, kind: type[BaseException]) -> None:
    """Nor taken for a fault of the plugin, which is looked at again."""
    site.plugin("alpha", f"import {kind.__module__}\nraise {kind.__module__}.{kind.__name__}\n")
    for _ in range(2):
        with pytest.raises(kind):
            sb.installed_plugins()


def test_a_plugin_that_uses_plugins_while_it_is_imported(
    site: Site, reason: Callable[[str], str]
) -> None:
    site.plugin("alpha", "import samebytes\nsamebytes.context('zulu')\n")
    assert "it may only declare" in reason("alpha")


@pytest.mark.parametrize(
    "api", ["(1, 99)", "(2, 0)", "(0, 9)", "(1, -1)", "(1,)", "'1.0'", "None", "(1, 'x')", "1.0"]
)
def test_other_api(site: Site, reason: Callable[[str], str], api: str) -> None:
    site.plugin("alpha", header=_MAKE.format(api=api))
    expected = reason("alpha")
    assert f"plugin API {eval(api)!r}, this samebytes has {API}" in expected
    assert "upgrade samebytes" in expected


def test_incompatible_is_an_error_of_its_own(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEBYTES_STRICT", "1")
    site.plugin("alpha", header=_MAKE.format(api=(1, 7)))
    with pytest.raises(IncompatiblePluginError) as caught:
        sb.context("cpu")
    assert (caught.value.declared, caught.value.supported) == ((1, 7), API)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", "has no PLUGIN = samebytes.plugins.Plugin"),
        ("PLUGIN = 'mine'\n", "has no PLUGIN"),
        ("def __getattr__(name): raise RuntimeError(name)\n", "RuntimeError: PLUGIN"),
    ],
)
def test_no_plugin(site: Site, reason: Callable[[str], str], header: str, expected: str) -> None:
    site.plugin("alpha", header=header)
    assert expected in reason("alpha")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("summary=None", "summary None is not a string"),
        ("summary='', packages=['av']", "packages ['av'] is not a mapping"),
        ("summary='', packages={'av': None}", "is not a mapping from modules to commands"),
        ("summary='', probe='made_up'", "probe 'made_up' is not \"module:function\""),
    ],
)
def test_nonsense_in_plugin(
    site: Site, reason: Callable[[str], str], arguments: str, expected: str
) -> None:
    header = f"from samebytes.plugins import *\nPLUGIN = Plugin(api=API, {arguments})\n"
    site.plugin("alpha", header=header)
    assert expected in reason("alpha")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "@hookimpl\ndef samebytes_mapers(): return []\n",
            "unknown hook 'samebytes_mapers'; did you mean 'samebytes_mappers'",
        ),
        ("def samebytes_tensor(): return []\n", "did you mean 'samebytes_tensors'"),
        ("@hookimpl\ndef same_contexts(): return []\n", "did you mean 'samebytes_contexts'"),
        (
            "@hookimpl(specname='samebytes_map')\ndef mine(): return []\n",
            "unknown hook 'samebytes_map'",
        ),
        ("def samebytes_mappers(): return []\n", "lacks @samebytes.plugins.hookimpl"),
        ("@hookimpl\ndef samebytes_tensors(manager): return []\n", "manager"),
    ],
)
def test_hooks_that_are_not_hooks(
    site: Site, reason: Callable[[str], str], code: str, expected: str
) -> None:
    site.plugin("alpha", code)
    assert expected in reason("alpha")


def test_a_hook_under_another_name(site: Site) -> None:
    site.plugin(
        "alpha",
        """
import os as samebytes_anything
samebytes_number = 3

@hookimpl(specname="samebytes_contexts")
def contexts():
    return (ContextSpec(node="alpha", context="a:B"),)
""",
    )
    found = next(p for p in sb.installed_plugins() if p.name == "alpha")
    assert (found.state, found.memory_types) == ("ready", ("alpha",))


def test_an_object_that_raises_where_it_is_asked_is_not_a_hook(site: Site) -> None:
    site.plugin(
        "alpha",
        """
class Lazy:
    def __getattr__(self, name):
        raise RuntimeError("settings are not configured")

settings = Lazy()

@hookimpl
def samebytes_contexts():
    return (ContextSpec(node="alpha", context="a:B"),)
""",
    )
    found = next(p for p in sb.installed_plugins() if p.name == "alpha")
    assert (found.state, found.error, found.memory_types) == ("ready", "", ("alpha",))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return None", "samebytes_mappers() returned None, not a list"),
        ("pass", "samebytes_mappers() returned None, not a list"),
        ("return 7", "returned 7, not a list"),
        ("return {}", "returned {}, not a list"),
        ("yield 1", "generator object"),
        ("return [7]", "returned 7, not a MapperSpec"),
        (
            "return [ContextSpec(node='a', context='a:B')]",
            "returned ContextSpec(node='a'",
        ),
        ("raise ValueError('today')", "samebytes_mappers() raised ValueError: today"),
        ("raise SystemExit(1)", "samebytes_mappers() raised SystemExit: 1"),
        ("return MapperSpec()", "TypeError"),
        ("return [Unprintable()]", "<Unprintable whose repr raised ZeroDivisionError>"),
    ],
)
def test_hooks_that_answer_nonsense(
    site: Site, reason: Callable[[str], str], body: str, expected: str
) -> None:
    code = f"""
class Unprintable:
    def __repr__(self):
        return 1 / 0

@hookimpl
def samebytes_mappers():
    {body}
"""
    site.plugin("alpha", code)
    assert expected in reason("alpha")


_NATIVE = {"native": "made.Up", "wraps": "a:B", "level": "tensor"}
_CONTEXT = {"node": "alpha", "context": "a:B"}
_MAPPER = {"source": "cpu", "target": "alpha", "mapper": "a:B", "summary": "how"}


@pytest.mark.parametrize(
    ("hook", "fields", "expected"),
    [
        ("tensors", {**_NATIVE, "wraps": "a.B"}, "wraps 'a.B' is not \"module:Class\""),
        ("tensors", {**_NATIVE, "wraps": "a:B.C"}, "is not"),
        ("tensors", {**_NATIVE, "wraps": "a:B "}, "is not"),
        ("tensors", {**_NATIVE, "wraps": "a..b:B"}, "is not"),
        ("tensors", {**_NATIVE, "wraps": None}, "wraps None is not"),
        ("tensors", {**_NATIVE, "level": "image"}, "level 'image'"),
        ("tensors", {**_NATIVE, "native": "Up"}, "native 'Up' is not the full name of a type"),
        ("tensors", {**_NATIVE, "native": None}, "native None"),
        ("contexts", {**_CONTEXT, "context": ":B"}, "context ':B' is not"),
        ("contexts", {**_CONTEXT, "node": ""}, "node '' is not a memory type"),
        ("contexts", {**_CONTEXT, "node": "a:B:C"}, "node 'a:B:C' is not"),
        ("contexts", {**_CONTEXT, "node": "a:GPU.0"}, "node 'a:GPU.0' is not"),
        ("contexts", {**_CONTEXT, "derives_from": "cpu"}, "derives_from 'cpu' is not a tuple"),
        ("contexts", {**_CONTEXT, "devices": "devices"}, "devices 'devices' is not"),
        ("contexts", {**_CONTEXT, "level": None}, "level None"),
        ("mappers", {**_MAPPER, "mapper": "a"}, "mapper 'a' is not"),
        ("mappers", {**_MAPPER, "source": 1}, "source 1 is not a memory type"),
        ("mappers", {**_MAPPER, "target": "a b"}, "target 'a b' is not a memory type"),
        ("mappers", {**_MAPPER, "transfer": "alias"}, "transfer 'alias' is not a Transfer"),
        ("mappers", {**_MAPPER, "summary": 3}, "summary 3 is not a string"),
        ("mappers", {**_MAPPER, "access": ()}, "access () is not a tuple"),
        ("mappers", {**_MAPPER, "access": "rw"}, "access 'rw' is not a tuple"),
        ("mappers", {**_MAPPER, "access": ("x",)}, "access ('x',) is not a tuple"),
        ("mappers", {**_MAPPER, "cost": 0}, "cost 0 is not a positive number"),
        ("mappers", {**_MAPPER, "cost": float("nan")}, "cost nan is not"),
        ("mappers", {**_MAPPER, "cost": float("inf")}, "cost inf is not"),
        ("mappers", {**_MAPPER, "cost": "1"}, "cost '1' is not"),
        ("mappers", {**_MAPPER, "formats": "NV12"}, "formats 'NV12' is not a tuple"),
        ("mappers", {**_MAPPER, "formats": ("yuv420p",)}, "'yuv420p' must be spelt 'I420'"),
        ("mappers", {**_MAPPER, "requires": "cpu"}, "requires 'cpu' is not a tuple"),
        ("mappers", {**_MAPPER, "requires": ("cpu~=1",)}, "'cpu~=1' is not a requirement"),
        ("mappers", {**_MAPPER, "level": "plane"}, "level 'plane'"),
    ],
)
def test_nonsense_in_specs(
    site: Site,
    reason: Callable[[str], str],
    hook: str,
    fields: dict[str, object],
    expected: str,
) -> None:
    kind = {"tensors": "NativeSpec", "contexts": "ContextSpec", "mappers": "MapperSpec"}[hook]
    written = dict(fields)
    transfer = written.pop("transfer", None)
    given = "" if hook != "mappers" else f"transfer={transfer!r}, "
    if transfer is None:
        given = given.replace("None", "Transfer.ALIAS")
    site.plugin(
        "alpha",
        f"""
nan, inf = float("nan"), float("inf")

@hookimpl
def samebytes_{hook}():
    return [{kind}({given}**{written!r})]
""",
    )
    assert expected in reason("alpha")
    assert f"samebytes_{hook}()" in reason("alpha")


def test_a_format_that_the_core_does_not_know_may_be_declared(site: Site) -> None:
    fields = {**_MAPPER, "formats": ("MADE_UP", "NV12")}
    site.plugin(
        "alpha",
        f"""
@hookimpl
def samebytes_mappers():
    return [MapperSpec(transfer=Transfer.ALIAS, **{fields!r})]
""",
    )
    assert next(p.state for p in sb.installed_plugins() if p.name == "alpha") == "ready"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("alpha_plugin:PLUGIN", "does not name a module"),
        ("alpha-plugin", "does not name a module"),
        ("", "does not name a module"),
    ],
)
def test_entry_points_that_name_no_module(
    site: Site, reason: Callable[[str], str], value: str, expected: str
) -> None:
    site.distribution("alpha-dist", f"[samebytes.plugins]\nalpha = {value}\n")
    sb.refresh()
    assert expected in reason("alpha")


def test_malformed_entry_points(site: Site, reason: Callable[[str], str]) -> None:
    site.distribution("alpha-dist", "[samebytes.plugins]\nno equals sign here\n")
    sb.refresh()
    assert "entry_points.txt is malformed" in reason("alpha-dist")


def test_entry_points_that_are_not_text(site: Site, reason: Callable[[str], str]) -> None:
    folder = site.distribution("alpha-dist", "")
    (folder / "entry_points.txt").write_bytes(b"\xff\xfe[samebytes.plugins]\xff")
    site.plugin("broken", "raise RuntimeError\n")
    reason("broken")


def test_malformed_entry_points_of_somebody_else(site: Site, reason: Callable[[str], str]) -> None:
    site.distribution("other-dist", "[console_scripts]\nno equals sign here\n")
    site.plugin("broken", "raise RuntimeError\n")
    reason("broken")
    assert "other-dist" not in [p.name for p in sb.installed_plugins()]


def test_metadata_without_name_and_version(site: Site) -> None:
    site.module("alpha_plugin", _MAKE.format(api=(1, 0)))
    site.distribution("alpha", "[samebytes.plugins]\nalpha = alpha_plugin\n", metadata="")
    sb.refresh()
    found = next(p for p in sb.installed_plugins() if p.name == "alpha")
    assert (found.state, found.distribution, found.version) == ("ready", "", "")


# What is declared well, and breaks when it is first used.


def test_metadata_with_a_field_of_many_lines(site: Site) -> None:
    site.module("alpha_plugin", _MAKE.format(api=(1, 0)))
    metadata = "Name: alpha\nVersion: 2.0\nLicense: long\n        Name: wrong\n\nVersion: 9\n"
    site.distribution("alpha", "[samebytes.plugins]\nalpha = alpha_plugin\n", metadata=metadata)
    sb.refresh()
    found = next(p for p in sb.installed_plugins() if p.name == "alpha")
    assert (found.distribution, found.version) == ("alpha", "2.0")
