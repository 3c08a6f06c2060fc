# SPDX-License-Identifier: Apache-2.0
"""Running the checks of each device and its benchmarks, and the report made of it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from .._plugins.children import run_child
from .._plugins.discovery import listed
from .._plugins.probe import examine_all, find
from ..benchmarks._run import run_benchmarks
from .checks import checks_of, device_nodes
from .fields import VERSION, allowed
from .machine import machine

__all__ = ["made_report"]

_CHILD = "samebytes._hardware.child"
_VERSION = re.compile(rf"(?=\d+\.\d|\d+$){VERSION}", re.ASCII)
"""A number alone, or the beginning of a text that begins with numbers and dots."""
_FOR_BENCHMARKS = 0.4
"""The part of the time that is kept for the benchmarks."""


def made_report(
    plugins: Sequence[str] = (),
    *,
    seconds: float = 280.0,
    each: float = 20.0,
    on_step: Callable[[str], None] = lambda step: None,
) -> dict[str, Any]:
    """Check the devices of all plugins, or of these, and measure; the report, of allowed fields.

    Each check runs in a child process, as do the benchmarks of a plugin: one that hangs or crashes
    is a line of the report. What there is no time for is "not run".

    Args:
        seconds: for all of it.
        each: seconds that one check may take.
        on_step: called with the name of each step before it begins.

    Raises:
        UnknownNameError: no plugin of that name is installed.
    """
    end = time.monotonic() + seconds
    records = [find(name) for name in plugins] or list(listed().plugins.values())
    checks_end = end - seconds * _FOR_BENCHMARKS
    devices: list[dict[str, str]] = []
    checks: list[dict[str, str]] = []
    for node in device_nodes(plugins):
        on_step(f"{node}: device")
        answer = _run(node, "device", checks_end, each)
        if "kind" not in answer:
            checks.append({"node": node, "check": "device", **answer})
        elif answer["kind"] != "CPU":
            devices.append({"node": node, **answer})
            for check in checks_of(node):
                on_step(f"{node}: {check}")
                answer = _run(node, check, checks_end, each)
                checks.append({"node": node, "check": check, **answer})
    owners = {listed().owner_of_node[device["node"]] for device in devices}
    report = {
        **machine(),
        "versions": list(_versions(records, each)),
        "devices": devices,
        "checks": checks,
        "benchmarks": list(_measured(sorted(owners), end, on_step)),
    }
    return allowed(report)


def _run(node: str, check: str, end: float, each: float) -> dict[str, str]:
    timeout = min(each, end - time.monotonic())
    if timeout <= 0:
        return {"result": "not run", "by": ""}
    child = run_child(_CHILD, [node, check], timeout)
    for line in child.answers:
        with suppress(ValueError):
            answer = json.loads(line)
            if isinstance(answer, dict):
                return answer
    if child.status is None:
        return {"result": "hung", "by": ""}
    signal = re.search(r"SIG[A-Z]+", child.ending(timeout))
    return {"result": "crashed", "by": signal.group() if signal else ""}


def _measured(
    plugins: Sequence[str], end: float, on_step: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    known = {*_with_benchmarks()}
    wanted = [name for name in plugins if name in known]
    for number, name in enumerate(wanted):
        timeout = (end - time.monotonic()) / (len(wanted) - number)
        if timeout <= 0:
            return
        on_step(f"{name}: benchmarks")
        for row in run_benchmarks([name], quick=True, timeout=timeout):
            if row.ratio is not None:
                yield {"plugin": name, "row": row.name, "ratio": row.ratio}


def _with_benchmarks() -> Iterator[str]:
    from ..benchmarks._found import offers

    return (offer.plugin for offer in offers())


def _versions(records: Sequence[Any], each: float) -> Iterator[dict[str, str]]:
    """The versions among what the probes found: those of libraries and drivers."""
    for record, examination in zip(records, examine_all(records, each), strict=True):
        for of, value in examination.result.details.items():
            if found := _VERSION.match(value):
                yield {"plugin": record.name, "of": of, "version": found.group()}
