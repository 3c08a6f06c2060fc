# SPDX-License-Identifier: Apache-2.0
"""A signal handler raises at random moments, and native calls fail, for as long as one likes.

    python3 dev.py faults --random 3600

Real signals, so they come where CPython looks for them, while other threads use the same things.
After each strike the subject must be whole: its slots, requests and threads are there, its bytes
are right, no lock is held. Subjects run in child processes, one after another.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from samebytes.errors import SamebytesError
from samebytes_softdevices import counted_calls, fail_call

from .injecting import RELEASES
from .sites import OFTEN, sites_table
from .striking import Striker
from .subjects import SUBJECTS, Mapping, Subject

__all__ = ["run_children", "strike_one"]

ROOT = Path(__file__).resolve().parents[2]
_ROUND_SECONDS = 120
_UNSTRUCK_SECONDS = 0.2
# Frameworks use what these did not give, and the process ends: see running.py.
_UNUSABLE = frozenset({"clRetainContext", "clGetDeviceInfo"}) | RELEASES
_FAULTS = 0.2
_AT_SITES = 0.5


def strike_one(name: str, seed: int, seconds: float) -> dict[str, object]:
    """Strike one subject in this process.

    Args:
        name: of SUBJECTS.
        seed: of the moments.
        seconds: how long.

    Returns:
        What came of it, for run_children().

    Raises:
        AssertionError: something is lost, stuck or wrong.
    """
    faulthandler.dump_traceback_later(_ROUND_SECONDS, exit=True)
    fail_call(None)
    subject, striker = SUBJECTS[name](), Striker()
    try:
        return _strike_for(seconds, name, subject, striker, random.Random(seed))
    finally:
        faulthandler.cancel_dump_traceback_later()
        striker.end()
        gc.unfreeze()


def _struck(striker: Striker, subject: Subject, seconds: float, rng: random.Random) -> bool:
    """Repeat the work until it was struck; it is not after a while.

    Every second time it is struck at the site of it that was struck least.
    """
    until = time.monotonic() + _UNSTRUCK_SECONDS
    site = None
    if striker.seen and rng.random() < _AT_SITES:
        site = min(sorted(striker.seen), key=lambda one: striker.sites[one])
    with striker.within(seconds, site):
        while striker.armed and time.monotonic() < until:
            subject.work()
    return striker.struck


def _strike_for(
    seconds: float, name: str, subject: Subject, striker: Striker, rng: random.Random
) -> dict[str, object]:
    strikes = failed = 0
    began = time.monotonic()
    subject.work()
    usual = time.monotonic() - began
    gc.collect()
    gc.freeze()
    # A call that fails is counted as one that took something: only without them leaks are counted.
    fails = isinstance(subject, Mapping) and rng.random() < _FAULTS
    calls = [f for f in counted_calls() if f not in _UNUSABLE] if fails else []
    failing = subject if isinstance(subject, Mapping) and calls else None
    while time.monotonic() - began < seconds:
        faulthandler.dump_traceback_later(_ROUND_SECONDS, exit=True)
        if failing:
            failing.fail(rng.choice(calls), rng.randrange(3))
        try:
            strikes += _struck(striker, subject, rng.uniform(1e-6, 1.2 * usual + 1e-4), rng)
        except (SamebytesError, OSError, MemoryError):
            if not failing:
                raise
            failed += 1
        if failing:
            failing.fail(None)
        subject.check()
        if isinstance(subject, Mapping) and not failing and subject.lost > strikes:
            gc.collect()
            subject.check()
            assert subject.lost <= strikes, f"{strikes} strikes: {subject.leaked}"
    subject.close()
    leaked = subject.leaked if isinstance(subject, Mapping) and not failing else Counter[str]()
    return {
        "name": name, "strikes": strikes, "failed": failed, "leaked": max(leaked.total(), 0),
        "finalizers": striker.in_finalizers, "functions": striker.functions,
        "sites": striker.sites,
    }  # fmt: skip


def run_children(seconds: float, only: Sequence[str] = (), slice_seconds: float = 20.0) -> int:
    """Strike all subjects in turn for so long, print what was struck, and return 1 for findings."""
    names = [n for n in SUBJECTS if not only or any(part in n for part in only)]
    # As often as all mappings together.
    others = [n for n in names if n not in _MAPPINGS]
    order = [n for one in names if one in _MAPPINGS for n in (one, *others[:1])] or names
    seed, began, findings = int(time.time()) % 1_000_000, time.monotonic(), 0
    functions, sites, totals = Counter[str](), Counter[str](), Counter[str]()
    while time.monotonic() - began < seconds:
        left = seconds - (time.monotonic() - began)
        seed += 1
        name = order[0]
        order = order[1:] + order[:1]
        if name in others:
            others = others[1:] + others[:1]
            name = others[0]
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.faults", "--strike", name]
        command += ["--seed", str(seed), "--random", str(min(slice_seconds, max(left, 1)))]
        child = subprocess.run(
            command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False
        )
        said = [line for line in child.stdout.splitlines() if line.startswith('{"name"')]
        if child.returncode or not said:
            findings += 1
            tail = "\n".join([*child.stdout.splitlines()[-5:], *child.stderr.splitlines()[-60:]])
            _say(f"finding: {name}, seed {seed}, status {child.returncode}\n{tail}")
            continue
        found = json.loads(said[0])
        functions.update(found.pop("functions"))
        sites.update(found.pop("sites"))
        del found["name"]
        totals.update(found)
    _say(_table(functions))
    _say(sites_table(sites))
    _say(f"{time.monotonic() - began:.0f} s: {dict(totals)}, {findings} findings")
    return 1 if findings else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


_MAPPINGS = frozenset(n for n in SUBJECTS if " " in n and not n.startswith("queue"))


def _table(functions: Counter[str]) -> str:
    rows = [f"{number:8} {function}" for function, number in functions.most_common()]
    often = sum(number >= OFTEN for number in functions.values())
    return "\n".join(
        [*rows, f"{len(functions)} functions were struck, {often} of them {OFTEN} times"]
    )
