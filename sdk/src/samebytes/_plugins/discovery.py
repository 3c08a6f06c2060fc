# SPDX-License-Identifier: Apache-2.0
"""Discovery: find the plugins, load each on its own, fill the tables. Once for each process."""

from __future__ import annotations

import importlib
import os
import threading
import traceback
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from ..errors import (
    MissingDependencyError,
    PluginConflictError,
    PluginError,
    PluginLoadError,
    SamebytesError,
)
from .tables import PluginRecord, Tables

__all__ = ["GROUP", "forget", "load_class", "tables"]

GROUP = "samebytes.plugins"

_lock = threading.RLock()


def tables() -> Tables:
    """The tables, filled on first use.

    Raises:
        PluginError: a plugin is broken and SAMEBYTES_STRICT=1.
    """
    with _lock:  # two threads that ask first must not load the plugins twice
        return _discover()


def forget() -> None:
    """Empty the tables; the next use fills them again."""
    with _lock:
        _discover.cache_clear()


@cache
def _discover() -> Tables:
    found = Tables()
    for record in _records():
        if record.disabled:
            found.set_aside.append(record)
            continue
        try:
            if record.name in found.plugins:
                other = found.plugins[record.name]
                raise PluginConflictError(
                    record.name,
                    f"{record.distribution or record.module} repeats the name of a plugin of "
                    f"{other.distribution or other.module}",
                )
            _load(record)
            found.add(record)
        except PluginError as error:
            if os.environ.get("SAMEBYTES_STRICT") == "1":
                raise
            record.error = error
            found.set_aside.append(record)
    found.link()
    return found


def _records() -> Iterator[PluginRecord]:
    yield PluginRecord("cpu", "samebytes", "", "samebytes._cpu.plugin")
    chosen = _names("SAMEBYTES_PLUGINS")
    refused = _names("SAMEBYTES_DISABLE") or frozenset()
    for entry in _entry_points():
        dist = entry.dist
        yield PluginRecord(
            entry.name,
            dist.name if dist is not None else "",
            dist.version if dist is not None else "",
            entry.value,
            disabled=(chosen is not None and entry.name not in chosen) or entry.name in refused,
        )


def _entry_points() -> Iterable[Any]:
    import importlib_metadata  # slow to import: not before somebody needs plugins

    # By name, so that which of two conflicting plugins comes first does not depend on the disk.
    return sorted(
        importlib_metadata.entry_points(group=GROUP),
        key=lambda e: (e.name, e.dist.name if e.dist is not None else ""),
    )


def _names(variable: str) -> frozenset[str] | None:
    value = os.environ.get(variable)
    if value is None:
        return None
    return frozenset(filter(None, (name.strip() for name in value.split(","))))


def _load(record: PluginRecord) -> None:
    from .validation import check_module, declarations  # imports pluggy: not before it is needed

    try:
        module = importlib.import_module(record.module)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise PluginLoadError(
            record.name,
            f"importing {record.module} raised {type(error).__name__}: {error} "
            f"({where.filename}:{where.lineno})",
        ) from error
    record.plugin = check_module(record.name, module)
    record.declared = declarations(record.name, module)


def load_class(path: str, plugin: str) -> Any:
    """Import the class that a spec names "module:Class".

    Raises:
        MissingDependencyError: a package of the plugin is not installed.
        PluginLoadError: the module or class is not there, or importing it raised.
    """
    module_name, _, class_name = path.partition(":")
    try:
        return getattr(importlib.import_module(module_name), class_name)
    except SamebytesError:
        raise
    except Exception as error:
        record = tables().plugins.get(plugin)
        packages = record.plugin.packages if record and record.plugin else {}
        if isinstance(error, ImportError):
            missing = (error.name or "").partition(".")[0]
            if missing in packages:
                raise MissingDependencyError(
                    plugin, f"the package {missing!r}", packages[missing]
                ) from error
        raise PluginLoadError(
            plugin, f"loading {path} raised {type(error).__name__}: {error}"
        ) from error
