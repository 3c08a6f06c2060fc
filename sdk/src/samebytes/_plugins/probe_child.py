# SPDX-License-Identifier: Apache-2.0
"""The child process of `probe`: import the packages of a plugin, then run its probe.

`python -m samebytes._plugins.probe_child NAME TASK`, where TASK is JSON: {"packages": {module:
command}, "probe": "module:function" or null}. It answers in lines of JSON on stdout:
{"importable": whether the packages can be imported}, then {"result": the fields of a ProbeResult,
"faulty": whether the plugin is to blame for it}.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from ..errors import MissingDependencyError
from .children import answering
from .failures import described, missing_package, shown
from .specs import ProbeResult

__all__ = ["main"]


def main(task: Mapping[str, Any]) -> None:
    """Answer, and end the process."""
    answer = answering()
    error = _import(task["packages"])
    answer({"importable": error is None})
    result, faulty = _ask(task["probe"]) if error is None else _why_not(task, *error)
    answer({"result": _fields(result), "faulty": faulty})
    # Some drivers crash at exit; by then, the answer is given.
    os._exit(0)


def _fields(result: ProbeResult) -> dict[str, Any]:
    fields = asdict(result)
    fields["usable"] = bool(result.usable)
    fields["reason"], fields["hint"] = str(result.reason), str(result.hint)
    fields["details"] = {str(k): str(v) for k, v in dict(result.details).items()}
    return fields


def _import(packages: Mapping[str, str]) -> tuple[str, BaseException] | None:
    """None if all could be imported; else the package that could not, and its exception."""
    for package in packages:
        try:
            importlib.import_module(package)
        except BaseException as error:
            return package, error
    return None


def _why_not(
    task: Mapping[str, Any], package: str, error: BaseException
) -> tuple[ProbeResult, bool]:
    if missing_package(error, [package]):
        reason = f"the package {package!r} is missing"
        return ProbeResult(usable=False, reason=reason, hint=task["packages"][package]), False
    reason = f"importing {package} raised {described(error)}"
    # The plugin may know the cause: often a library of the system is missing.
    if task["probe"] and isinstance(error, ImportError | OSError):
        own, _ = _ask(task["probe"])
        if own.hint and not own.usable:
            return replace(own, reason=f"{own.reason} ({reason})"), False
    return ProbeResult(usable=False, reason=reason), True


def _ask(probe: str | None) -> tuple[ProbeResult, bool]:
    if probe is None:
        return ProbeResult(usable=True, reason="its packages can be imported"), False
    module, _, name = probe.partition(":")
    try:
        result = getattr(importlib.import_module(module), name)()
    except BaseException as error:
        missing = isinstance(error, MissingDependencyError)
        hint = error.hint if isinstance(error, MissingDependencyError) else ""
        reason = f"its probe {probe} raised {described(error)}"
        return ProbeResult(usable=False, reason=reason, hint=hint), not missing
    if not isinstance(result, ProbeResult):
        reason = f"its probe {probe} returned {shown(result)}, not a ProbeResult"
        return ProbeResult(usable=False, reason=reason), True
    return result, False


if __name__ == "__main__":
    main(json.loads(sys.argv[2]))
