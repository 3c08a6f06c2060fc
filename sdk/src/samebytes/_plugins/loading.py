# SPDX-License-Identifier: Apache-2.0
"""The import of objects that plugins name by strings "module:name", on first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from .._core.owner.interrupts import deferred
from ..errors import ImportInProgressError, MissingDependencyError, PluginLoadError, SamebytesError
from .discovery import tables
from .failures import described, missing_package

__all__ = ["call", "load", "load_class"]

_T = TypeVar("_T")


def load(path: str, plugin: str) -> Any:
    """Import the object that "module:name" names.

    Raises:
        MissingDependencyError: a package of the plugin is not installed.
        ImportInProgressError: a finalizer calls this while the same thread imports the module.
        PluginLoadError: the module or name does not exist, or importing it raised.
    """
    module, _, name = path.partition(":")
    try:
        if module not in sys.modules:
            with deferred():
                importlib.import_module(module)
        return getattr(importlib.import_module(module), name)
    except SamebytesError:
        raise
    except (Exception, SystemExit) as error:  # a plugin must not end the user's program
        half = _half_imported(error)
        if half is not None:
            raise ImportInProgressError(
                plugin,
                f"this thread is still importing {half}, so {path} is not available yet: a "
                "finalizer that runs meanwhile can use only names that were used before, or must "
                "ask again later",
            ) from error
        record = tables().plugins.get(plugin)
        packages = record.plugin.packages if record and record.plugin else {}
        missing = missing_package(error, packages)
        if missing is not None:
            raise MissingDependencyError(
                plugin, f"the package {missing!r}", packages[missing]
            ) from error
        raise PluginLoadError(plugin, f"loading {path} raised {described(error)}") from error


def _half_imported(error: BaseException) -> str | None:
    """The half-imported module that caused an error of Python itself; None for any other."""
    module: object = None
    if isinstance(error, AttributeError):
        module = error.obj
    elif isinstance(error, ImportError) and error.name is not None:
        module = sys.modules.get(error.name)
    spec: Any = getattr(module, "__spec__", None)
    return str(spec.name) if getattr(spec, "_initializing", False) else None


def load_class(path: str, plugin: str, base: type[_T]) -> type[_T]:
    """Import the class that "module:Class" names.

    Raises:
        MissingDependencyError: a package of the plugin is not installed.
        PluginLoadError: it does not exist, is not a class of that kind, or importing it raised.
    """
    found = load(path, plugin)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise PluginLoadError(plugin, f"{path} is not a subclass of {base.__name__}")
    return found


def call(function: Callable[..., _T], plugin: str, *args: object) -> _T:
    """Call a function of a plugin.

    Raises:
        PluginLoadError: it raised an exception that is not one of samebytes.
    """
    try:
        return function(*args)
    except SamebytesError:
        raise
    except (Exception, SystemExit) as error:  # a plugin must not end the user's program
        name = getattr(function, "__qualname__", function)
        raise PluginLoadError(plugin, f"{name}() raised {described(error)}") from error
