# SPDX-License-Identifier: Apache-2.0
"""Methods of a test class, and programs, run in a separate process, so that crashes are seen."""

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
# Imported by the interpreter that is copied, before any framework: modules are torn down in reverse
# order, and the objects that the first one keeps must outlive the frameworks.
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
    """Call `type(test)().method()` in an interpreter that has imported only this kit.

    The class must be at the top level of a file that uses no relative imports.

    Args:
        test: an instance of a test class.
        method: the name of the method.

    Returns:
        The exit status and the output of the interpreter.
    """
    return run_methods(test, [method])[method]


def run_methods(test: object, methods: Sequence[str]) -> dict[str, ChildResult]:
    """Call several methods, one after another, in one such interpreter.

    A method that raises gets status 1, and the next one is called. If a method ends the process,
    the rest are called in another. The last method gets the status of its interpreter, because
    its objects may live until the interpreter ends.
    """
    left, results = list(methods), dict[str, ChildResult]()
    while left:
        for method, result in _run(type(test), left).items():
            results[method] = result
            left.remove(method)
    return results


def run_program(program: str, **environment: str) -> str:
    """Run a program in a fresh interpreter that turns every warning into an error.

    Args:
        program: the source code, which may be indented.
        environment: additional environment variables.

    Returns:
        What the program wrote to stdout.

    Raises:
        AssertionError: the program failed, was ended by a signal, or wrote to stderr.
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
    if not outputs:  # the process ended before the first method
        return {methods[0]: ChildResult(status or 1, before, early)}
    began = dict(zip(methods, zip(outputs, errors, strict=True), strict=False))
    *_, last = began
    return {
        method: ChildResult(
            # The process may end well although the method failed.
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
