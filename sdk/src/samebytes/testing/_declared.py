# SPDX-License-Identifier: Apache-2.0
"""One failing test, with the cause, for a plugin that cannot be used; the others are skipped.

This covers wrong declarations, and plugins with which not even a first object can be made and
mapped.
"""

from __future__ import annotations

import pytest

from samebytes import PluginInfo, installed_plugins
from samebytes.errors import PluginError, SamebytesError

from .._plugins.discovery import listed
from ._first import REPORTED, TriedFirst
from .rules.book import BrokenRule
from .rules.classes import context_class, mapper_class, native_wrapper

__all__ = ["Declared"]

# For each set of memory types, the reason why none of them can be tested, or None.
_CAUSES = pytest.StashKey[dict[tuple[str, ...], str | None]]()
# Exceptions that show a mistake in the program. Others may come from this machine; the tests
# report those themselves.
_MISTAKES = (AttributeError, LookupError, NameError, TypeError)


class Declared(TriedFirst):
    """The base of all suites of memory: a fault in all tests fails one, and skips the others."""

    _broken = "no object can be made and mapped"

    @pytest.fixture(autouse=True)
    def _declarations(self, request: pytest.FixtureRequest) -> None:
        """Fail the first test if a plugin cannot be used as it is declared, and skip the rest."""
        ends = (getattr(self, name, None) for name in ("memory", "source", "target"))
        memories = [memory for memory in ends if memory is not None]
        nodes = tuple(sorted({memory.node for memory in memories}))
        stash = request.session.stash
        causes = stash.setdefault(_CAUSES, {})
        if nodes not in causes:
            causes[nodes] = _cause(nodes)
        cause = causes[nodes]
        if cause is None:
            for memory in memories:
                memory.need()
            return
        reported = stash.setdefault(REPORTED, {})
        if cause in reported:
            pytest.skip(f"its plugin cannot be used as it is declared: see {reported[cause]}")
        reported[cause] = request.node.nodeid
        pytest.fail(
            f"{cause}\nWhat is declared must be right before anything can be tested: all other "
            f"tests of {' and '.join(nodes)} are skipped. `samebytes doctor` shows the plugin.",
            pytrace=False,
        )

    def _mistake(self) -> Exception | None:
        """The exception of the first mapping if it shows a mistake in the program, or None."""
        try:
            self._make_and_map()
        except SamebytesError:
            return None  # a refusal, which may be right
        except _MISTAKES as error:
            return error
        except Exception:
            return None  # perhaps from a device or driver: tests say what they need
        return None

    def _make_and_map(self) -> None:
        """Make the first of the suite's objects, and map it as the suite does."""


def _cause(nodes: tuple[str, ...]) -> str | None:
    """The reason why the declarations of these nodes cannot be used, or None.

    A missing plugin is not a reason: tests say themselves what they need.
    """
    infos = installed_plugins()
    for node in nodes:
        owner = next((i for i in infos if node.partition(":")[0] in i.memory_types), None)
        if owner is None:
            aside = [info.error for info in infos if info.state == "set aside"]
            if aside:
                return f"no plugin declares {node!r}: {'; '.join(aside)}"
        elif owner.state == "ready" and (wrong := _wrong(owner, node, nodes)) is not None:
            return wrong
    return None


def _wrong(owner: PluginInfo, node: str, nodes: tuple[str, ...]) -> str | None:
    """The first fault in a plugin's declarations that the tests of a node use, or None."""
    if owner.warnings:
        return f"plugin {owner.name!r}: {owner.warnings[0]}"
    declared = listed().plugins[owner.name].declared
    try:
        for native in declared.natives:
            native_wrapper(native, owner.name)
        for context in declared.contexts:
            if context.node == node:
                context_class(context, owner.name)
        for edge in owner.edges:
            if {edge.source, edge.target} == {*nodes}:
                mapper_class(edge, owner.name)
    except PluginError as error:  # which names the plugin
        return str(error)
    except (SamebytesError, BrokenRule) as error:
        return f"plugin {owner.name!r}: {error}"
    return None
