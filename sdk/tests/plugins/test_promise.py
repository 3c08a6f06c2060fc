# SPDX-License-Identifier: Apache-2.0
"""The promise of docs/reference/plugin-api.md: what was written for an older API still works."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pluggy
import pytest

import samebytes as sb
from samebytes import Transfer, plugins
from samebytes._authors.check import declaration
from samebytes._authors.check.reporting import Report
from samebytes._plugins import hooks, validation
from samebytes._plugins.validation import PluginAPI
from samebytes.errors import IncompatiblePluginError, PluginDeprecationWarning, PluginLoadError
from samebytes.plugins import MapperSpec, NativeSpec, Plugin

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

# What API 1.0 has. A name may only be taken away with a new major version.
NAMES_1_0 = frozenset((
    "API", "ContextSpec", "HandleKey", "HostContext", "MapperSpec", "NativeSpec", "Plugin",
    "ProbeResult", "Refused", "check_access", "count_copy",
    "data_address", "hookimpl", "intern", "ordering_queue",
))  # fmt: skip
HOOKS_1_0 = frozenset(("samebytes_tensors", "samebytes_contexts", "samebytes_mappers"))

# The minor that comes next, and the one after.
NEXT = (plugins.API[0], plugins.API[1] + 1)
AFTER = (plugins.API[0], plugins.API[1] + 2)

# A plugin as API 1.0 wants it, with no more than that has.
PLUGIN_1_0 = """
from samebytes import Transfer
from samebytes.plugins import ContextSpec, MapperSpec, NativeSpec, Plugin, hookimpl

PLUGIN = Plugin(api={api}, summary="made up")

@hookimpl
def samebytes_tensors():
    return [NativeSpec(native="made.Up", wraps="alpha_classes:Tensor", level="tensor")]

@hookimpl
def samebytes_contexts():
    return [ContextSpec(node="alpha", context="alpha_classes:Context")]

@hookimpl
def samebytes_mappers({argument}):
    return [MapperSpec(source="cpu", target="alpha", mapper="alpha_classes:Mapper",
                       transfer=Transfer.ALIAS, summary="how")]
"""
OLD_HOOK = PluginDeprecationWarning("samebytes_mappers is now called otherwise")
OLD_ARGUMENT = PluginDeprecationWarning("the argument machine of samebytes_mappers goes away")


def specs_of(**changed: Callable[..., object]) -> SimpleNamespace:
    """The hook specifications, some of them changed as a later API may."""
    own = {name: getattr(hooks, name) for name in validation.HOOKS}
    return SimpleNamespace(**{**own, **changed})


def as_if(monkeypatch: pytest.MonkeyPatch, api: PluginAPI) -> None:
    """Let this samebytes have another plugin API."""
    monkeypatch.setattr(validation, "CURRENT", api)
    sb.refresh()


def install(site: Site, api: tuple[int, int] = (1, 0), argument: str = "") -> None:
    site.plugin("alpha", header=PLUGIN_1_0.format(api=api, argument=argument))


def found() -> sb.PluginInfo:
    return next(p for p in sb.installed_plugins() if p.name == "alpha")


def test_names_stay() -> None:
    assert set(plugins.__all__) >= NAMES_1_0
    assert all(hasattr(plugins, name) for name in plugins.__all__)
    assert set(validation.HOOKS) >= HOOKS_1_0
    assert plugins.API >= (1, 0)
    assert len(plugins.__all__) <= 55


def test_what_had_to_be_said_in_1_0_is_enough() -> None:
    Plugin(api=(1, 0), summary="")
    NativeSpec(native="a.B", wraps="a:B", level="tensor")
    plugins.ContextSpec(node="a", context="a:B")
    MapperSpec(
        source="a", target="b", mapper="a:B", transfer=Transfer.MAP, summary=""
    )  # fmt: skip
    plugins.ProbeResult(usable=True)


@pytest.mark.parametrize("newer", [NEXT, (1, 12)])
def test_an_older_plugin_under_a_newer_minor(
    site: Site, monkeypatch: pytest.MonkeyPatch, newer: tuple[int, int]
) -> None:
    as_if(monkeypatch, PluginAPI(newer, hooks))
    install(site, (1, 0))
    assert (found().state, found().memory_types) == ("ready", ("alpha",))


@pytest.mark.parametrize("declared", [AFTER, (2, 0), (0, 1)])
def test_a_plugin_for_another_api_is_set_aside(
    site: Site, monkeypatch: pytest.MonkeyPatch, declared: tuple[int, int]
) -> None:
    as_if(monkeypatch, PluginAPI(NEXT, hooks))
    install(site, declared)
    assert found().state == "set aside"
    assert f"it declares plugin API {declared}, this samebytes has {NEXT}" in found().error
    assert "upgrade samebytes, or install a release of the plugin for API 1.x" in found().error
    sb.context("cpu")
    monkeypatch.setenv("SAMEBYTES_STRICT", "1")
    sb.refresh()
    with pytest.raises(IncompatiblePluginError):
        sb.context("cpu")


def test_a_hook_that_got_an_argument(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """An implementation names the arguments that it wants: one without still works."""

    def samebytes_mappers(machine: str) -> list[MapperSpec]:  # type: ignore[empty-body]
        """With more to know."""

    specs = specs_of(samebytes_mappers=pluggy.HookspecMarker("samebytes")(samebytes_mappers))
    as_if(monkeypatch, PluginAPI(NEXT, specs, {"machine": "made up"}))
    install(site)
    assert [e.name for e in found().edges] == ["cpu -> alpha"]
    site.module("alpha_plugin", PLUGIN_1_0.format(api=NEXT, argument="machine"))
    sb.refresh()
    assert [e.name for e in found().edges] == ["cpu -> alpha"]


@pytest.fixture
def deprecated_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next API, in which a hook is deprecated."""
    mark = pluggy.HookspecMarker("samebytes")

    def samebytes_mappers() -> list[MapperSpec]:  # type: ignore[empty-body]
        """As before."""

    specs = specs_of(samebytes_mappers=mark(samebytes_mappers, warn_on_impl=OLD_HOOK))
    # The plugins of the core itself use what is new by then.
    monkeypatch.delattr("samebytes._cpu.plugin.samebytes_mappers")
    as_if(monkeypatch, PluginAPI(NEXT, specs))


@pytest.fixture
def deprecated_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next API, in which an argument of a hook is deprecated."""
    mark = pluggy.HookspecMarker("samebytes")

    def samebytes_mappers(machine: str) -> list[MapperSpec]:  # type: ignore[empty-body]
        """With what goes away."""

    specs = specs_of(
        samebytes_mappers=mark(samebytes_mappers, warn_on_impl_args={"machine": OLD_ARGUMENT})
    )
    as_if(monkeypatch, PluginAPI(NEXT, specs, {"machine": "made up"}))


@pytest.mark.usefixtures("deprecated_hook")
def test_a_deprecated_hook_warns_and_works(site: Site) -> None:
    install(site)
    with pytest.warns(PluginDeprecationWarning, match="is now called otherwise") as caught:
        assert [e.name for e in found().edges] == ["cpu -> alpha"]
    assert caught[0].filename == str(site.path / "alpha_plugin.py")


@pytest.mark.usefixtures("deprecated_argument")
def test_a_deprecated_argument_warns_and_works(site: Site) -> None:
    install(site, argument="machine")
    with pytest.warns(PluginDeprecationWarning, match="the argument machine"):
        assert [e.name for e in found().edges] == ["cpu -> alpha"]


@pytest.mark.usefixtures("deprecated_argument")
def test_who_does_not_use_it_hears_nothing(site: Site) -> None:
    install(site)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found().state == "ready"


@pytest.mark.usefixtures("deprecated_hook")
def test_where_warnings_are_errors_it_is_set_aside_with_the_reason(site: Site) -> None:
    install(site)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found().state == "set aside"
        assert "PluginDeprecationWarning: samebytes_mappers is now called" in found().error
        sb.context("cpu")


@pytest.mark.usefixtures("deprecated_hook")
def test_check_plugin_reports_what_is_deprecated(site: Site) -> None:
    site.module("alpha_plugin", PLUGIN_1_0.format(api=(1, 0), argument=""))
    reported: list[object] = []
    declaration.check(Report(reported.append), "alpha", "alpha_plugin")
    warned = {"outcome": "warned", "detail": "samebytes_mappers is now called otherwise"}
    assert warned in reported
    assert not any(isinstance(t, dict) and t.get("outcome") == "failed" for t in reported)


@pytest.mark.usefixtures("deprecated_argument")
def test_what_was_taken_away_sets_aside(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    as_if(monkeypatch, PluginAPI((2, 0), hooks))
    install(site, (2, 0), "machine")
    assert found().state == "set aside"
    assert "{'machine'} are declared in the hookimpl but" in found().error
    with pytest.raises(PluginLoadError):
        validation.declarations("alpha", importlib.import_module("alpha_plugin"))
