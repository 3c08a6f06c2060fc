# SPDX-License-Identifier: Apache-2.0
"""A signal handler raises at random moments, and native calls fail, for as long as one likes.

    python3 dev.py faults --random 3600

Real signals, so they come where CPython looks for them, while other threads use the same things.
After each strike the subject must be whole: its slots, requests and threads are there, its bytes
are right, no lock is held. Subjects run in child processes, one after another; `turns` says which.
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
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from samebytes.errors import SamebytesError
from samebytes_softdevices import counted_calls, fail_call

from .injecting import RELEASES
from .sites import OFTEN, sites_table
from .striking import Striker
from .subject import Subject
from .subjects import SUBJECTS, Repeated
from .turns import Turns, least_struck

__all__ = ["run_children", "strike_one"]

ROOT = Path(__file__).resolve().parents[2]
_ROUND_SECONDS = 120
_UNSTRUCK_SECONDS = 0.2
# Frameworks use what these did not give, and the process ends: see running.py.
_UNUSABLE = frozenset({"clRetainContext", "clGetDeviceInfo"}) | RELEASES
_FAULTS = 0.2
_AT_SITES = 0.5
# Seconds of one child, which takes two to begin; and how many each subject has in the long run.
_SHORT_SLICE = 3.0
_LONG_SLICE = 20.0
_SLICES = 5


def strike_one(
    name: str, seed: int, seconds: float, before: Mapping[str, int] = MappingProxyType({})
) -> dict[str, Any]:
    """Strike one subject in this process.

    Args:
        name: of SUBJECTS.
        seed: of the moments, and of the sites that are aimed at.
        seconds: how long.
        before: how often sites were struck so far.

    Returns:
        What came of it, for run_children().

    Raises:
        AssertionError: something is lost, stuck or wrong.
    """
    faulthandler.dump_traceback_later(_ROUND_SECONDS, exit=True)
    fail_call(None)
    rng = random.Random(seed)
    subject, striker = SUBJECTS[name](), Striker(rng)
    striker.sites.update(before)
    try:
        found = _strike_for(seconds, name, subject, striker, rng)
        return {**found, "sites": dict(striker.sites - Counter(before))}
    finally:
        faulthandler.cancel_dump_traceback_later()
        striker.end()
        gc.unfreeze()


def _struck(striker: Striker, subject: Subject, seconds: float, rng: random.Random) -> bool:
    """Repeat the work until it was struck; it is not after a while.

    Every second time it is struck at one of its sites, those first that were struck least.
    """
    until = time.monotonic() + _UNSTRUCK_SECONDS
    site = None
    if striker.seen and rng.random() < _AT_SITES:
        site = least_struck(striker.seen, striker.sites, rng)
    with striker.within(seconds, site):
        while striker.armed and time.monotonic() < until:
            subject.work()
    return striker.struck


def _strike_for(
    seconds: float, name: str, subject: Subject, striker: Striker, rng: random.Random
) -> dict[str, Any]:
    strikes = failed = 0
    began = time.monotonic()
    subject.work()
    usual = time.monotonic() - began
    gc.collect()
    gc.freeze()
    # A call that fails is counted as one that took something: only without them leaks are counted.
    fails = isinstance(subject, Repeated) and rng.random() < _FAULTS
    calls = [f for f in counted_calls() if f not in _UNUSABLE] if fails else []
    failing = subject if isinstance(subject, Repeated) and calls else None
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
            if "openvino" in name:
                failing.leave_what_is_kept()
        subject.check()
        if isinstance(subject, Repeated) and not failing and subject.lost > strikes:
            gc.collect()
            subject.check()
            assert subject.lost <= strikes, f"{strikes} strikes: {subject.leaked}"
    subject.close()
    leaked = subject.leaked if isinstance(subject, Repeated) and not failing else Counter[str]()
    return {
        "name": name, "strikes": strikes, "failed": failed, "leaked": max(leaked.total(), 0),
        "finalizers": striker.in_finalizers, "functions": striker.functions,
        "seen": sorted(striker.seen),
    }  # fmt: skip


def run_children(seconds: float, only: Sequence[str] = (), seed: int | None = None) -> int:
    """Strike the subjects for so long, print what was struck, and return 1 for findings.

    Args:
        seconds: in all.
        only: subjects, by parts of their names; all if empty.
        seed: of the choice of subjects, and the first of the subjects' own.
    """
    names = [n for n in SUBJECTS if not only or any(part in n for part in only)]
    seed = int(time.time()) % 1_000_000 if seed is None else seed
    turns, began, findings = Turns(names, seed), time.monotonic(), 0
    long = min(max(seconds / (_SLICES * len(names)), _SHORT_SLICE), _LONG_SLICE)
    functions, totals = Counter[str](), Counter[str]()
    _say(f"seed {seed}")
    while (left := seconds - (time.monotonic() - began)) > 0:
        seed += 1
        name = turns.next()
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.faults", "--strike", name]
        command += ["--seed", str(seed), "--random", str(min(long, max(left, 1)))]
        command += ["--before", json.dumps(turns.strikes)]
        started = time.monotonic()
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
        turns.add(name, found.pop("sites"), found.pop("seen"), time.monotonic() - started)
        del found["name"]
        totals.update(found)
    _say(_table(functions))
    _say(sites_table(turns.strikes))
    _say(turns.why_seldom())
    _say(f"{time.monotonic() - began:.0f} s: {dict(totals)}, {findings} findings")
    return 1 if findings else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _table(functions: Counter[str]) -> str:
    rows = [f"{number:8} {function}" for function, number in functions.most_common()]
    often = sum(number >= OFTEN for number in functions.values())
    return "\n".join(
        [*rows, f"{len(functions)} functions were struck, {often} of them {OFTEN} times"]
    )
