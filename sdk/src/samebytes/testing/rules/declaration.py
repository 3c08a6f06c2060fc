# SPDX-License-Identifier: Apache-2.0
"""The declaration of a plugin: a module that imports alone and lightly, PLUGIN, hooks, a probe."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from types import ModuleType

from ..._plugins.specs import Plugin, ProbeResult
from ..._plugins.tables import Declarations
from ..._plugins.validation import check_api_of_hooks, check_hooks, declarations, plugin_of
from .book import BrokenRule, NotChecked, rule

__all__ = [
    "entry_point", "hooks_are_marked", "importing_is_light", "module_imports", "nothing_deprecated",
    "plugin_is_declared", "plugins_get_along", "probe_answers", "specs_are_valid",
]  # fmt: skip

# Modules that the core has imported itself, or that are small.
_LIGHT = frozenset(
    ("samebytes", "numpy", "pluggy", "importlib_metadata", "zipp", "typing_extensions")
)


@rule(
    "6.14",
    "the entry point names a module",
    means="samebytes does not find the plugin",
    do='[project.entry-points."samebytes.plugins"] in pyproject.toml: name = "package._plugin"; '
    "where two distributions announce the name, choose another, or uninstall one",
)
def entry_point(problem: str | None) -> None:
    """Look at the problem that discovery found with an entry point, if any."""
    if problem is not None:
        raise BrokenRule(problem)


@rule(
    "6.1",
    "the module can be imported",
    means="the plugin is set aside, and all that it would add is missing",
    do="the entry point names a module of the installed distribution that imports by itself",
)
def module_imports(path: str) -> None:
    """Import the module that the entry point names."""
    importlib.import_module(path)


@rule(
    "6.2",
    "PLUGIN describes the plugin, for this plugin API",
    means="samebytes cannot tell whether it can use the plugin, or what to say of it",
    do="PLUGIN = Plugin(api=(major, minor), summary=..., packages=..., probe=...), where api is "
    "the version that it was written for: not newer than that of samebytes, and not older than "
    "its hooks",
)
def plugin_is_declared(name: str, module: ModuleType) -> None:
    """Look at PLUGIN."""
    plugin = plugin_of(name, module)
    check_api_of_hooks(name, module, plugin)
    if not plugin.summary:
        raise BrokenRule("its summary is empty: `samebytes list` has nothing to say of it")
    for package, command in plugin.packages.items():
        if not all(part.isidentifier() for part in package.split(".")):
            raise BrokenRule(f"packages: {package!r} is not the name of a module")
        own = package.partition(".")[0] == module.__name__.partition(".")[0]
        if not command and not own:
            raise BrokenRule(f"packages: no command that installs {package}")


@rule(
    "6.3",
    "importing it is light",
    means="every program that uses samebytes loads this framework, and breaks where that breaks",
    do="name classes by strings, and import the framework inside of functions or in the modules "
    "that hold these classes; mind what the package's __init__.py imports too",
)
def importing_is_light(imported: set[str], path: str, plugin: Plugin | None) -> None:
    """Look at which modules the import of `path` brought in, in a process that had none of them."""
    own = path.partition(".")[0]
    packages = plugin.packages if plugin is not None else {}
    brought = {name.partition(".")[0] for name in imported}
    # A framework that the plugin's own distribution brings counts too if PLUGIN declares it.
    named = {name for name in packages if name in imported and name.partition(".")[0] == own}
    heavy = sorted((brought - _LIGHT - set(sys.stdlib_module_names) - {own}) | named)
    if heavy:
        raise BrokenRule(f"it imports {', '.join(heavy)}")


@rule(
    "6.4",
    "hooks are spelt and marked",
    means="samebytes does not call them, and says nothing",
    do="the hooks are samebytes_tensors, samebytes_protocols, samebytes_contexts, "
    "samebytes_mappers, samebytes_elements and samebytes_converters, each marked with "
    "@samebytes.plugins.hookimpl",
)
def hooks_are_marked(name: str, module: ModuleType) -> None:
    """Look at every function that might be a hook."""
    check_hooks(name, module)


@rule(
    "6.5",
    "the hooks return valid specs",
    means="the plugin is set aside, and all that it would add is missing",
    do="each hook returns a list of specs of its kind: NativeSpec, ProtocolSpec, ContextSpec, "
    "MapperSpec, ElementSpec or ConverterSpec",
)
def specs_are_valid(name: str, module: ModuleType) -> None:
    """Call the hooks."""
    if declarations(name, module) == Declarations():
        raise BrokenRule(
            "it declares no native type, no context, no edge, no element and no converter"
        )


@rule(
    "6.13",
    "it gets along with the other plugins",
    means="one of two plugins is set aside, and which one depends on the order",
    do="names of native types, nodes and plugins are taken once: choose others, or uninstall one "
    "of the two",
)
def plugins_get_along(set_aside: str | None, disabled: str | None) -> None:
    """Look at the reason why samebytes set a plugin aside, if it did.

    Raises:
        NotChecked: it is disabled.
    """
    if disabled is not None:
        raise NotChecked(disabled)
    if set_aside is not None:
        raise BrokenRule(set_aside)


@rule(
    "6.12",
    "it uses nothing deprecated",
    means="a later version of the plugin API will not take the plugin",
    do="use what the warning names instead",
    warns=True,
)
def nothing_deprecated(texts: Sequence[str]) -> None:
    """Look at the warnings that its declaration caused."""
    if texts:
        raise BrokenRule("; ".join(dict.fromkeys(texts)))


@rule(
    "6.6",
    "the probe answers in time",
    means="`samebytes doctor` cannot say what is missing, or hangs",
    do="return ProbeResult(usable=False, reason=..., hint=...) for what may be missing",
)
def probe_answers(result: object) -> None:
    """Look at what a probe returned, or at what stands for its answer if it failed."""
    if not isinstance(result, ProbeResult):
        raise BrokenRule(f"it returned {result!r}, not a ProbeResult")
    if not result.usable and not (result.reason and result.hint):
        raise BrokenRule(f"its no comes without a {'hint' if result.reason else 'reason'}")
