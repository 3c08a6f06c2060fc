# SPDX-License-Identifier: Apache-2.0
"""What `probe` runs in a child process: import the packages of a plugin, then ask its probe.

`python -m samebytes._plugins.probe_child NAME TASK`, where TASK is JSON: {"packages": {module:
command}, "probe": "module:function" or null}. It answers in lines of JSON on stdout:
{"importable": true} once the packages are imported, then the fields of a ProbeResult.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from ..errors import MissingDependencyError
from .failures import described, missing_package, shown
from .specs import ProbeResult

__all__ = ["main"]


def main(task: Mapping[str, Any]) -> None:
    """Answer, and end the process."""
    with suppress(ImportError):  # only POSIX has it
        import resource

        # A probe that crashes is an answer, not something to leave a core file for.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Native libraries print to descriptor 1; the answers go where nobody else writes.
    answers = os.dup(1)
    os.dup2(2, 1)
    result = _import(task["packages"])
    if result is None:
        _tell(answers, {"importable": True})
        result = _ask(task["probe"])
    _tell(answers, _fields(result))
    # Some drivers crash at exit; the answer is given.
    os._exit(0)


def _tell(answers: int, answer: object) -> None:
    os.write(answers, json.dumps(answer).encode() + b"\n")


def _fields(result: ProbeResult) -> dict[str, Any]:
    fields = asdict(result)
    fields["usable"] = bool(result.usable)
    fields["reason"], fields["hint"] = str(result.reason), str(result.hint)
    fields["details"] = {str(k): str(v) for k, v in dict(result.details).items()}
    return fields


def _import(packages: Mapping[str, str]) -> ProbeResult | None:
    """None if all could be imported."""
    for package, hint in packages.items():
        try:
            importlib.import_module(package)
        except BaseException as error:
            if missing_package(error, [package]):
                return ProbeResult(
                    usable=False, reason=f"the package {package!r} is missing", hint=hint
                )
            reason = f"importing {package} raised {described(error)}"
            return ProbeResult(usable=False, reason=reason)
    return None


def _ask(probe: str | None) -> ProbeResult:
    if probe is None:
        return ProbeResult(usable=True, reason="its packages can be imported")
    module, _, name = probe.partition(":")
    try:
        result = getattr(importlib.import_module(module), name)()
    except BaseException as error:
        hint = error.hint if isinstance(error, MissingDependencyError) else ""
        return ProbeResult(
            usable=False, reason=f"its probe {probe} raised {described(error)}", hint=hint
        )
    if not isinstance(result, ProbeResult):
        reason = f"its probe {probe} returned {shown(result)}, not a ProbeResult"
        return ProbeResult(usable=False, reason=reason)
    return result


if __name__ == "__main__":
    main(json.loads(sys.argv[2]))
