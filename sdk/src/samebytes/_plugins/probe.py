# SPDX-License-Identifier: Apache-2.0
"""Asking a plugin whether it can be used here, in a child process that may hang or crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from ..errors import UnknownNameError
from .discovery import listed
from .distributions import install_hint
from .failures import shown
from .specs import Plugin, ProbeResult
from .tables import PluginRecord

__all__ = ["Examination", "examine", "find"]

_CHILD = "samebytes._plugins.probe_child"


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found out about an installed plugin.

    Attributes:
        importable: whether its module and its packages can be imported; None where that was
            not tried, since the plugin was set aside before.
        result: whether it can be used, and if not, why.
    """

    importable: bool | None
    result: ProbeResult


def find(name: str) -> PluginRecord:
    """The record of an installed plugin, in use or set aside.

    Raises:
        UnknownNameError: there is none.
    """
    found = listed()
    records = {record.name: record for record in (*found.set_aside, *found.plugins.values())}
    if name not in records:
        hint = install_hint(name)
        raise UnknownNameError("plugin", name, records, f"(to get it: {hint})" if hint else "")
    return records[name]


def examine(record: PluginRecord, timeout: float) -> Examination:
    """Find out whether a plugin is importable and usable."""
    plugin = record.plugin
    if plugin is None or record.reason:
        importable = False if plugin is None and not record.disabled else None
        return Examination(importable, ProbeResult(usable=False, reason=record.reason))
    if not plugin.packages and plugin.probe is None:
        return Examination(True, ProbeResult(usable=True, reason="it needs nothing else"))
    with tempfile.TemporaryFile() as answers, tempfile.TemporaryFile() as noise:
        try:
            code = _run_child(record.name, plugin, timeout, answers, noise)
        except OSError as error:
            reason = f"no child process could be started to probe it: {error}"
            return Examination(None, ProbeResult(usable=False, reason=reason))
        return _judge(record.name, code, timeout, _text(answers), _text(noise))


def _run_child(
    name: str, plugin: Plugin, timeout: float, answers: IO[bytes], noise: IO[bytes]
) -> int | None:
    """The child's exit status, or None if its time was up."""
    task = json.dumps({"packages": dict(plugin.packages), "probe": plugin.probe})
    # The child must find the same plugins, also those on paths that this process has added.
    paths = os.pathsep.join(os.path.abspath(p) for p in sys.path)  # noqa: PTH100  ("" is the cwd)
    # Files, not pipes: a process that the probe left behind would hold a pipe open.
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", _CHILD, name, task],
        stdin=subprocess.DEVNULL,
        stdout=answers,
        stderr=noise,
        env={**os.environ, "PYTHONPATH": paths},
        start_new_session=True,
    )
    try:
        return child.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and what it started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _judge(name: str, code: int | None, timeout: float, answers: str, noise: str) -> Examination:
    importable: bool | None = None
    hint = ""
    try:
        for line in answers.splitlines():
            answer = _answer(line)
            if isinstance(answer, ProbeResult):
                # The child tells at once where a package cannot be imported.
                return Examination(importable is True, answer)
            importable = answer
    except ValueError:
        reason = f"its probe wrote {shown(answers)}, which is no result"
        return Examination(importable, ProbeResult(usable=False, reason=reason))
    what = "its probe" if importable else "importing its packages"
    if code is None:
        reason = f"{what} took more than {timeout:g} s"
        hint = f"more time: samebytes doctor {name} --timeout {max(60, 4 * timeout):g}"
    elif code < 0:
        reason = f"{what} ended the process: {_signal_name(-code)}"
    else:
        reason = f"{what} ended the process with status {code} and no result"
    last = next((line.strip() for line in reversed(noise.splitlines()) if line.strip()), "")
    if last and code is not None:
        reason += f"; its last words: {last}"
    return Examination(importable or False, ProbeResult(usable=False, reason=reason, hint=hint))


def _answer(line: str) -> ProbeResult | bool:
    """One line of the child: True once the packages are imported, then the result.

    Raises:
        ValueError: it is neither.
    """
    answer: Any = json.loads(line)
    if answer == {"importable": True}:
        return True
    try:
        result = ProbeResult(**answer)
    except TypeError as error:
        raise ValueError("not a result") from error
    texts = (result.reason, result.hint)
    if type(result.usable) is not bool or not all(isinstance(t, str) for t in texts):
        raise ValueError("not a result")
    return result


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
