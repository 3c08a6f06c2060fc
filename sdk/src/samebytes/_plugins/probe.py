# SPDX-License-Identifier: Apache-2.0
"""Probes: a child process, which may hang or crash, finds out whether a plugin can be used."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from .children import Child, started_child
from .discovery import listed
from .failures import shown
from .installing import working
from .specs import ProbeResult
from .tables import PluginRecord
from .words import unknown_plugin

__all__ = ["Examination", "examine", "examine_all", "find", "probe"]

_CHILD = "samebytes._plugins.probe_child"


@dataclass(frozen=True, slots=True)
class Examination:
    """The findings about an installed plugin.

    Attributes:
        importable: whether its module and its packages can be imported; None if that was not
            tried, since the plugin was set aside before, or if it took too long.
        result: whether it can be used, and if not, why.
        faulty: True if the plugin is at fault and not this machine: it was set aside, or its
            probe or an import raised, crashed or hung.
    """

    importable: bool | None
    result: ProbeResult
    faulty: bool = False


def probe(name: str, timeout: float = 10.0) -> ProbeResult:
    """The result of probing a plugin: whether it can be used on this machine.

    Its packages are imported and its own probe runs in a child process, so nothing that they do
    can harm this one.

    Args:
        name: the name of an installed plugin.
        timeout: the seconds that the child may take.

    Raises:
        UnknownNameError: no plugin of that name is installed.
    """
    return examine(find(name), timeout).result


def find(name: str) -> PluginRecord:
    """The record of an installed plugin, in use or set aside.

    Raises:
        UnknownNameError: there is none.
    """
    found = listed()
    records = {record.name: record for record in (*found.set_aside, *found.plugins.values())}
    if name not in records:
        raise unknown_plugin(name, records)
    return records[name]


def examine(record: PluginRecord, timeout: float) -> Examination:
    """Find out whether a plugin is importable and usable."""
    return examine_all([record], timeout)[0]


def examine_all(
    records: Sequence[PluginRecord],
    timeout: float,
    waits: Callable[[str], object] = lambda name: None,
) -> list[Examination]:
    """The same for several plugins, as many in parallel as there are CPUs.

    Args:
        records: the records of the plugins.
        timeout: how long the probe of one plugin may take, in seconds.
        waits: called with the name of each plugin before its probe is waited for.
    """
    at_once = max(2, os.cpu_count() or 1)
    found = list(map(_without_asking, records))
    asked: deque[tuple[int, Callable[[], Examination]]] = deque()
    with ExitStack() as running:  # Ctrl-C ends the probes that were started
        for place, record in enumerate(records):
            if found[place] is not None:
                continue
            if len(asked) == at_once:
                oldest, answer = asked.popleft()
                waits(records[oldest].name)
                found[oldest] = answer()
            asked.append((place, _ask(record, timeout, running)))
        for place, answer in asked:
            waits(records[place].name)
            found[place] = answer()
    return [one for one in found if one is not None]


def _ask(record: PluginRecord, timeout: float, running: ExitStack) -> Callable[[], Examination]:
    """Start the probe, and return a function that waits for the answer."""
    assert record.plugin is not None
    packages, probe = dict(record.plugin.packages), record.plugin.probe
    task = json.dumps({"packages": packages, "probe": probe})
    try:
        wait = running.enter_context(started_child(_CHILD, [record.name, task], timeout))
    except OSError as error:
        reason = f"no child process could be started to probe it: {error}"
        unknown = Examination(None, ProbeResult(usable=False, reason=reason))
        return lambda: unknown
    return lambda: _judge(record.name, wait(), timeout)


def _without_asking(record: PluginRecord) -> Examination | None:
    """The findings that need no child process; None if one must be asked."""
    plugin = record.plugin
    if plugin is None or record.reason:
        importable = False if plugin is None and not record.disabled else None
        unusable = ProbeResult(usable=False, reason=record.reason)
        return Examination(importable, unusable, faulty=not record.disabled)
    if not plugin.packages and plugin.probe is None:
        return Examination(True, ProbeResult(usable=True, reason="it needs nothing else"))
    return None


def _judge(name: str, child: Child, timeout: float) -> Examination:
    importable: bool | None = None
    try:
        for line in child.answers:
            answer = _answer(line)
            if isinstance(answer, bool):
                importable = answer
                continue
            # The child reports at once if a package cannot be imported.
            result, faulty = answer
            return Examination(importable is True, result, faulty)
    except ValueError:
        written = "\n".join(child.answers)
        reason = f"its probe wrote {shown(written)}, which is not a result"
        return Examination(importable, ProbeResult(usable=False, reason=reason), faulty=True)
    what = "importing its packages" if importable is None else "its probe"
    hint = ""
    if child.status is None:  # then it is unknown whether the packages can be imported
        hint = f"more time: samebytes doctor {name} --timeout {max(60, 4 * timeout):g}"
    elif importable is None:
        importable = False
    reason = f"{what} {child.ending(timeout)}"
    unusable = ProbeResult(usable=False, reason=reason, hint=hint)
    return Examination(importable, unusable, faulty=True)


def _answer(line: str) -> tuple[ProbeResult, bool] | bool:
    """The meaning of a line of the child: whether packages can be imported, or the result.

    Raises:
        ValueError: it is neither.
    """
    answer: Any = json.loads(line)
    if isinstance(answer, dict) and type(importable := answer.get("importable")) is bool:
        return importable
    try:
        result, faulty = ProbeResult(**answer["result"]), answer["faulty"]
    except (TypeError, KeyError) as error:
        raise ValueError("not a result") from error
    texts = (result.reason, result.hint)
    if type(result.usable) is not bool or not isinstance(result.details, dict):
        raise ValueError("not a result")
    if not all(isinstance(text, str) for text in (*texts, *result.details.values())):
        raise ValueError("not a result")
    reason, hint = map(working, texts)
    details = {key: working(text) for key, text in result.details.items()}
    return replace(result, reason=reason, hint=hint, details=details), bool(faulty)
