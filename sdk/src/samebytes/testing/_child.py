# SPDX-License-Identifier: Apache-2.0
"""Running methods of a test class, and programs, in a process of their own: a crash is seen."""

from __future__ import annotations

import importlib.util
import inspect
import os
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple, TextIO

from . import _forked

__all__ = ["ChildResult", "run_method", "run_methods", "run_program"]

_TIME_LIMIT_S = 300
# By the interpreter that is copied. Before any framework: modules end in the other order, and what
# the first keeps must outlive them.
_IMPORTED = ("samebytes.testing.rules.exits", "samebytes.testing._suites")
# Printed on both streams where a method begins, and on stdout where one ended well.
_BEGINS, _ENDED = "\x1e", "\x1d"


class ChildResult(NamedTuple):
    """The exit status and the output of a process.

    Attributes:
        status: its exit status, or the negative number of the signal that ended it.
        output, errors: what it wrote to stdout and to stderr.
    """

    status: int
    output: str
    errors: str


def run_method(test: object, method: str) -> ChildResult:
    """Call `type(test)().method()` in an interpreter that has imported this kit alone.

    The class must be at the top level of a file that uses no relative imports.

    Args:
        test: the object of a test class.
        method: its name.

    Returns:
        How the interpreter ended, and what it printed.
    """
    return run_methods(test, [method])[method]


def run_methods(test: object, methods: Sequence[str]) -> dict[str, ChildResult]:
    """Call several methods, one after another, in one such interpreter.

    One that raises has status 1, and the next is called. After one that ends the process, the
    rest are called in another. The last one's status is that of its interpreter, which ends
    after it: its objects may live until then.
    """
    left, results = list(methods), dict[str, ChildResult]()
    while left:
        for method, result in _run(type(test), left).items():
            results[method] = result
            left.remove(method)
    return results


def run_program(program: str, **environment: str) -> str:
    """Run a program in a fresh interpreter, in which each warning is an error.

    Args:
        program: its text, which may be indented.
        environment: more environment variables.

    Returns:
        Its output.

    Raises:
        AssertionError: it ended by an error or a signal, or wrote to stderr.
    """
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-W", "error", "-c", textwrap.dedent(program)],
        env={**os.environ, **environment},
        capture_output=True, text=True, timeout=_TIME_LIMIT_S, check=False,
    )  # fmt: skip
    if done.returncode or done.stderr:
        raise AssertionError(f"status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def _run(cls: type, methods: list[str]) -> dict[str, ChildResult]:
    arguments = [inspect.getfile(cls), cls.__qualname__, *methods]
    function = f"{__name__}:{call.__name__}"
    status, printed, complained = _forked.run(_IMPORTED, function, arguments, _TIME_LIMIT_S)
    before, *outputs = printed.split(_BEGINS)
    early, *errors = complained.split(_BEGINS)
    if not outputs:  # it did not get as far
        return {methods[0]: ChildResult(status or 1, before, early)}
    began = dict(zip(methods, zip(outputs, errors, strict=True), strict=False))
    *_, last = began
    return {
        method: ChildResult(
            # The process may have ended well and the method not.
            (status if method == last else 0) or int(_ENDED not in output),
            output.replace(_ENDED, ""),
            (early + error) if method == methods[0] else error,
        )
        for method, (output, error) in began.items()
    }


def call(file: str, qualname: str, *methods: str) -> None:
    """Run methods of a class in this interpreter, and report how each one ended."""
    spec = importlib.util.spec_from_file_location("samebytes_testing_child", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found: Any = module
    for name in qualname.split("."):
        found = getattr(found, name)
    for method in methods:
        _mark(_BEGINS, sys.stdout, sys.stderr)
        try:
            getattr(found(), method)()
        except Exception:
            traceback.print_exc()
        else:
            _mark(_ENDED, sys.stdout)


def _mark(mark: str, *streams: TextIO) -> None:
    for stream in streams:
        stream.write(mark)
        stream.flush()
