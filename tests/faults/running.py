# SPDX-License-Identifier: Apache-2.0
"""Operations in child processes, so that a crash is a finding as any other, and the table."""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from samebytes_softdevices import fault_library

from .injecting import Outcome, faults_of
from .operations import DROPS, OPERATIONS, Operation
from .random_moments import run_children, strike_one

__all__ = ["main", "outcomes_of"]

ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 300
_LIBRARIES = {"cl": "OpenCL", "ze": "Level Zero", "va": "VA-API"}
_SYSTEM = {"posix_memalign": "FFmpeg's memory"}
_SOCKETS = ("sendmsg", "recvmsg", "send", "recv")


def outcomes_of(name: str, *, repeats: int | None = None) -> list[Outcome]:
    """Run one operation in children, with the C library's functions made to fail, too."""
    environment = dict(os.environ)
    preloaded = environment.get("LD_PRELOAD", "")
    environment["LD_PRELOAD"] = ":".join(filter(None, (preloaded, str(fault_library()))))
    found = list[Outcome]()
    while True:
        leave_out = [(outcome.function, outcome.place) for outcome in found]
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.faults"]
        command += ["--child", name, "--leave-out", json.dumps(leave_out)]
        if repeats is not None:
            command += ["--repeats", str(repeats)]
        try:
            child = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
                timeout=2 * _SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:  # else it ends itself, unless it hangs before or after
            return [*found, Outcome(name, "?", 0, "wrong", f"no end in {2 * _SECONDS} s")]
        lines = [line for line in child.stdout.splitlines() if line.startswith('{"operation"')]
        said = [Outcome(**json.loads(line)) for line in lines]
        found += [outcome for outcome in said if outcome.how]
        if not child.returncode:
            return found
        if not said or said[-1].how:
            return [*found, Outcome(name, "?", 0, "wrong", _end(child))]
        found.append(_ended(said[-1], child))


def _ended(outcome: Outcome, child: subprocess.CompletedProcess[str]) -> Outcome:
    # PyAV's constructors of frames write to what av_frame_alloc() gave, NULL or not. OpenVINO's GPU
    # plugin gives back references that it failed to take, and uses a device that it cannot ask.
    known = {"posix_memalign": "", "clRetainContext": "openvino", "clGetDeviceInfo": "openvino"}
    theirs = known.get(outcome.function)
    ends = theirs is not None and theirs in outcome.operation and child.returncode < 0
    return replace(outcome, how="ends" if ends else "wrong", what=_end(child))


def _end(child: subprocess.CompletedProcess[str]) -> str:
    return f"status {child.returncode}:\n" + "\n".join(child.stderr.splitlines()[-20:])


def library_of(function: str) -> str:
    """The library or group that a function is part of, for the table."""
    if function in _SYSTEM:
        return _SYSTEM[function]
    if function in _SOCKETS:
        return "sockets"
    return (
        _LIBRARIES.get(function[:2], "system calls") if function[2:3].isupper() else "system calls"
    )


def table(found: Iterable[Outcome]) -> str:
    """The table of docs/reference/robustness.md."""
    rows: dict[str, Counter[str]] = {}
    functions: dict[str, set[str]] = {}
    for outcome in found:
        library = library_of(outcome.function)
        rows.setdefault(library, Counter())[outcome.how] += 1
        functions.setdefault(library, set()).add(outcome.function)
    columns = ("error", "another way", "reported", "never came", "kept", "ends", "wrong")
    lines = ["| Calls of | functions | calls that failed | " + " | ".join(columns) + " |"]
    lines.append("|---" * (len(columns) + 3) + "|")
    for library, counts in sorted(rows.items()):
        numbers = " | ".join(str(counts[column]) for column in columns)
        lines.append(f"| {library} | {len(functions[library])} | {counts.total()} | {numbers} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 if something ended wrong."""
    parser = argparse.ArgumentParser(prog="dev.py faults", description=__doc__)
    parser.add_argument("only", nargs="*", help="operations, by parts of their names")
    parser.add_argument("--repeats", type=int, help="to see whether memory grows; 0: not at all")
    parser.add_argument("--verbose", action="store_true", help="each call that failed")
    parser.add_argument(
        "--once", action="store_true", help="no faults, each in this process: for valgrind"
    )
    parser.add_argument(
        "--random", type=float, metavar="SECONDS",
        help="instead: exceptions of a signal handler, and faults, at random moments",
    )  # fmt: skip
    parser.add_argument("--strike", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help="of --random: begin with this one")
    parser.add_argument("--before", type=json.loads, default={}, help=argparse.SUPPRESS)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--leave-out", type=json.loads, default=[], help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.strike:
        struck = strike_one(options.strike, options.seed or 0, options.random, options.before)
        print(json.dumps(struck), flush=True)
        return 0
    if options.random:
        return run_children(options.random, options.only, options.seed)
    if options.child:
        _child(options.child, options.repeats, options.leave_out)
        return 0
    if options.once:
        return _once(options.only)
    names = [n for n in OPERATIONS if not options.only or any(part in n for part in options.only)]
    found = list[Outcome]()
    for name in names:
        outcomes = outcomes_of(name, repeats=options.repeats)
        found += outcomes
        print(f"{name}: {len(outcomes)} calls", flush=True)
        for outcome in outcomes:
            if options.verbose or outcome.how == "wrong":
                call = f"{outcome.function} number {outcome.place + 1}"
                print(f"  {call}: {outcome.how}: {outcome.what}", flush=True)
    print(f"\n{len(names)} operations\n\n{table(found)}", flush=True)
    return 1 if any(outcome.how == "wrong" for outcome in found) else 0


def _once(only: Sequence[str]) -> int:
    every: dict[str, Callable[[], Operation]] = {**OPERATIONS, **DROPS}
    names = [name for name in every if not only or any(part in name for part in only)]
    for name in names:
        print(name, flush=True)
        operation = every[name]()
        operation()
        operation()
    print(f"{len(names)} operations, twice each", flush=True)
    return 0


def _child(name: str, repeats: int | None, leave_out: Sequence[Sequence[object]]) -> None:
    import samebytes

    faulthandler.dump_traceback_later(_SECONDS, exit=True)
    nodes = {word for word in name.split() if word not in ("->", "copy", "map", "derive", "send")}
    kinds = ("dma", "opencl", "level_zero", "vaapi", "openvino:GPU", "openvino:NPU")
    held = [samebytes.context(node) for node in kinds if node in nodes]
    known: Any = [tuple(pair) for pair in leave_out]
    how_often = {} if repeats is None else {"repeats": repeats}
    for outcome in faults_of(name, leave_out=known, **how_often):
        print(json.dumps(asdict(outcome)), flush=True)
    held.clear()
