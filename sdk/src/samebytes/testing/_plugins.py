# SPDX-License-Identifier: Apache-2.0
"""PluginSuite: the rules for what a plugin declares."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.metadata import entry_points
from types import ModuleType
from typing import ClassVar

import pytest

from samebytes.errors import SamebytesError

from .._plugins.discovery import listed
from .._plugins.installing import working
from .._plugins.loading import load
from .._plugins.tables import Declarations
from .._plugins.validation import declarations
from ._objects import choose_tests
from .rules.classes import (
    context_class,
    devices_are_listed,
    edge_requires,
    element_class,
    mapper_class,
    native_spelling,
    native_wrapper,
)
from .rules.declaration import (
    hooks_are_marked,
    importing_is_light,
    module_imports,
    plugin_is_declared,
    probe_answers,
    specs_are_valid,
)

__all__ = ["PluginSuite"]

# Prints the modules that the import of a module brings in.
_IMPORTED = """\
import sys
import samebytes.plugins
before = set(sys.modules)
__import__(sys.argv[1])
print(*set(sys.modules) - before)
"""


class PluginSuite:
    """Tests of what a plugin declares. Inherit it once for each plugin.

    Class attributes:
        plugin: the name of its entry point in the group "samebytes.plugins".
        frameworks: additional modules that the declaring module must not import.
        probes: True if it has a probe; without one, it is usable if it can be imported.
    """

    plugin: ClassVar[str]
    frameworks: ClassVar[tuple[str, ...]] = ()
    probes: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        choose_tests(cls, PluginSuite, test_probe=cls.probes)

    def module_name(self) -> str:
        """The declaring module, from the entry point."""
        (entry,) = entry_points(group="samebytes.plugins", name=self.plugin)
        return entry.value

    def module(self) -> ModuleType:
        """The declaring module, imported."""
        return importlib.import_module(self.module_name())

    def test_declaring_is_light(self) -> None:
        """Rule 6: a fresh process that imports the declaring module has imported no framework."""
        done = subprocess.run(
            [sys.executable, "-c", _IMPORTED, self.module_name()],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        imported = set(done.stdout.split())
        assert not imported & {*self.frameworks}, "the declaring module imports these"
        importing_is_light(imported, self.module_name(), self.module().PLUGIN)

    def test_plugin(self) -> None:
        """PLUGIN says for which plugin API the plugin is and what it is; its hooks are marked."""
        module_imports(self.module_name())
        plugin_is_declared(self.plugin, self.module())
        hooks_are_marked(self.plugin, self.module())
        specs_are_valid(self.plugin, self.module())

    def test_what_it_names_is_there(self) -> None:
        """Every "module:Class" leads to a class of the right kind, with docstrings.

        Skipped, after the rest was checked, where the module of an edge imports a plugin that the
        edge requires and that is not installed.
        """
        declared, unmet, missing = self._declared(), self._unmet(), list[str]()
        for native in declared.natives:
            native_wrapper(native, self.plugin)
        for context in declared.contexts:
            context_class(context, self.plugin)
            if context.devices is not None:
                devices_are_listed(context, self.plugin)
        for element in declared.elements:
            element_class(element, self.plugin)
        for mapper in declared.mappers:
            edge_requires(mapper, self.plugin, listed().owner_of_node)
            try:
                mapper_class(mapper, self.plugin)
            except SamebytesError as error:
                name = (getattr(error.__cause__, "name", None) or "").partition(".")[0]
                own = self.module().__name__.partition(".")[0]
                if mapper.mapper not in unmet or not name or name == own:
                    raise
                missing.append(f"missing package {name}: {unmet[mapper.mapper]}")
        if missing:
            pytest.skip("; ".join(dict.fromkeys(missing)))

    def _unmet(self) -> dict[str, str]:
        """The mappers that cannot be used, and why."""
        own = [e for e in listed().edges if e.plugin == self.plugin]
        return {e.spec.mapper: working(e.missing) for e in own if e.missing is not None}

    def _declared(self) -> Declarations:
        return declarations(self.plugin, self.module())

    def test_native_types_are_spelled_as_they_spell_themselves(self) -> None:
        """A native type is found by the name that its __module__ and __qualname__ give."""
        for native in self._declared().natives:
            native_spelling(native)

    def test_probe(self) -> None:
        """The probe answers; a negative answer comes with a reason and a hint."""
        probe = self.module().PLUGIN.probe
        assert probe is not None, "there is no probe: if it needs none, say `probes = False`"
        result = load(probe, self.plugin)()
        probe_answers(result)
        assert result.reason
