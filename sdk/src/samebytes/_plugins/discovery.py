# SPDX-License-Identifier: Apache-2.0
"""Discovery, once per process: find the plugins, load each on its own, fill the tables."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._core.owner.interrupts import deferred
from .._core.owner.locks import Lock
from .._raising import without_frames
from .._version import __version__
from ..errors import (
    ImportInProgressError,
    PluginConflictError,
    PluginError,
    PluginLoadError,
    UnknownNameError,
)
from .failures import described

if TYPE_CHECKING:
    from .tables import PluginRecord, Tables

__all__ = ["GROUP", "forget", "listed", "tables"]

GROUP = "samebytes.plugins"

_lock = Lock()


class _Found:
    """The plugins that this process found.

    Attributes:
        tables: None until the first use, and again after `forget`.
        forgotten: how often `forget` was called.
    """

    tables: Tables | None = None
    forgotten = 0


class _ThisThread(threading.local):
    """The plugins that this thread is loading, one because of another."""

    loading: tuple[str, ...] = ()


_found = _Found()
_this_thread = _ThisThread()


def tables() -> Tables:
    """The tables, filled on first use.

    Raises:
        PluginError: a plugin is broken and SAMEBYTES_STRICT=1.
    """
    _check_not_loading()
    return _found.tables or _discover()


def listed() -> Tables:
    """The tables for listing plugins: no broken plugin makes this raise."""
    _check_not_loading()
    return _fill(strict=False) if _strict() else tables()


def forget() -> None:
    """Empty the tables; the next use fills them again, with newly installed plugins too."""
    importlib.invalidate_caches()
    with _lock:
        _found.forgotten += 1
        _found.tables = None


def _discover() -> Tables:
    """Fill the tables, without a lock: this imports plugins, and imports may wait for one another.

    If two threads are first, both fill tables, and both get those of the faster one. Tables that
    were forgotten while they were filled serve only this caller, who asked before: filling them
    until nobody forgets would never end beside a thread that keeps refreshing.
    """
    forgotten = _found.forgotten
    with deferred():
        filled = _fill(strict=_strict())
    with _lock:
        if _found.forgotten != forgotten:
            return filled
        _found.tables = _found.tables or filled
        return _found.tables


def _strict() -> bool:
    return os.environ.get("SAMEBYTES_STRICT") == "1"


def _check_not_loading() -> None:
    if _this_thread.loading:
        raise ImportInProgressError(
            _this_thread.loading[-1],
            "its module uses other plugins while it is imported: it may only declare, and name "
            "classes by strings; or a finalizer uses samebytes while this thread imports the "
            "plugins: use them once before, or ask again later",
        )


def _fill(*, strict: bool) -> Tables:
    from .tables import Tables  # deferred until a plugin is needed

    found = Tables()
    for record in _records():
        if not record.disabled:
            try:
                _enter(record, found)
                continue
            except PluginError as error:
                if strict:
                    raise
                record.error = without_frames(error)
        found.set_aside.append(record)
    found.link()
    return found


def _records() -> Iterator[PluginRecord]:
    from .distributions import entries  # deferred until plugins are needed
    from .tables import PluginRecord

    yield PluginRecord("cpu", "samebytes", __version__, "samebytes._cpu.plugin")
    chosen = _names("SAMEBYTES_PLUGINS")
    refused = _names("SAMEBYTES_DISABLE") or frozenset()
    names = {"cpu"}
    for entry in entries(GROUP):
        names.add(entry.name)
        disabled = (chosen is not None and entry.name not in chosen) or entry.name in refused
        error = PluginLoadError(entry.name, entry.problem) if entry.problem else None
        yield PluginRecord(
            entry.name, entry.distribution, entry.version, entry.module, error=error,
            disabled=disabled,
        )  # fmt: skip
    for name in sorted((chosen or frozenset()) - names):
        unknown = UnknownNameError("plugin", name, names)
        error = PluginLoadError(name, f"SAMEBYTES_PLUGINS names it, but it is an {unknown}")
        yield PluginRecord(name, error=error)


def _names(variable: str) -> frozenset[str] | None:
    """The names in a variable's comma-separated list, which may be empty; None if it is not set."""
    value = os.environ.get(variable)
    if value is None:
        return None
    return frozenset(filter(None, (name.strip() for name in value.split(","))))


def _enter(record: PluginRecord, found: Tables) -> None:
    if record.error is not None:
        raise record.error
    other = found.plugins.get(record.name)
    if other is not None:
        raise PluginConflictError(
            record.name,
            f"{record.distribution or record.module} has the same name as a plugin of "
            f"{other.distribution or other.module}",
        )
    before = _this_thread.loading
    _this_thread.loading = (*before, record.name)
    try:
        _load(record)
    finally:
        _this_thread.loading = before
    found.add(record)


def _load(record: PluginRecord) -> None:
    from .validation import check_module, declarations  # deferred: it imports pluggy

    try:
        module = importlib.import_module(record.module)
        plugin = check_module(record.name, module)
        record.declared = declarations(record.name, module)
        record.plugin = plugin
    except PluginError:
        raise
    except (Exception, SystemExit) as error:  # a plugin must not end the user's program
        raise PluginLoadError(
            record.name, f"importing {record.module} raised {described(error)}"
        ) from error
