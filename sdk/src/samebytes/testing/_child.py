# SPDX-License-Identifier: Apache-2.0
"""Running a method of a test class in a process of its own, where a crash can be seen."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
from typing import Any, NamedTuple

__all__ = ["ChildResult", "run_method"]

_TIME_LIMIT_S = 300
_START = "import sys; from samebytes.testing import _child; _child.call(*sys.argv[1:])"

# Objects put here live until the interpreter ends.
immortal: list[Any] = []


class ChildResult(NamedTuple):
    """How the process ended: its status (negative: the signal) and what it printed."""

    status: int
    output: str
    errors: str


def run_method(test: object, method: str) -> ChildResult:
    """Call `type(test)().method()` in a fresh interpreter.

    The class must be at the top level of a file that uses no relative imports.
    """
    cls = type(test)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", _START,
         inspect.getfile(cls), cls.__qualname__, method],
        capture_output=True, text=True, timeout=_TIME_LIMIT_S, check=False,
    )  # fmt: skip
    return ChildResult(done.returncode, done.stdout, done.stderr)


def call(file: str, qualname: str, method: str) -> None:
    """What the fresh interpreter does."""
    spec = importlib.util.spec_from_file_location("samebytes_testing_child", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found: Any = module
    for name in qualname.split("."):
        found = getattr(found, name)
    getattr(found(), method)()
