# SPDX-License-Identifier: Apache-2.0
"""Seeds in child processes, so that a crash is a finding as any other, with a way to replay it."""

from __future__ import annotations

import argparse
import faulthandler
import gc
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from samebytes import Storage
from samebytes.plugins import sweep_loans
from samebytes.testing import living_objects

from ..faults.sites import sites_table

__all__ = ["KINDS", "Finding", "fuzz", "grew", "main", "new_seed", "run_seeds"]

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("steps", "interrupts", "threads")
_STEPS = 40
_SEEDS_OF_A_CHILD = 40
_SECONDS_OF_A_RUN = 60
_SHOWN = 100
_OUT_OF_TIME = "Timeout (0:"  # as faulthandler says it
_ROUNDS = 20
_STRUCK = "sites struck "
_MAY_LEAK = {"mapped files": 3}


@dataclass(frozen=True)
class Finding:
    """A seed that ended wrong: how, and the last steps that it took."""

    kind: str
    seed: int
    what: str

    @property
    def is_slow(self) -> bool:
        """True if the seed only ran out of time, as it may on a machine under load."""
        return _OUT_OF_TIME in self.what

    def __str__(self) -> str:
        replay = f"python3 dev.py fuzz --kind {self.kind} --seed {self.seed} --count 1"
        return f"seed {self.seed} of {self.kind}: {self.what}\nreplay: {replay}"


def run_seeds(kind: str, first: int, count: int) -> None:
    """In this process: raises at the first seed that ends wrong."""
    from ..faults.striking import Striker
    from .machine import Machine
    from .threads import run_threads

    striker = Striker(random.Random(first)) if kind == "interrupts" else None

    def run(seed: int) -> int:
        """Returns how many steps were interrupted."""
        struck = 0
        faulthandler.dump_traceback_later(_SECONDS_OF_A_RUN, exit=True)
        match kind:
            case "steps":
                Machine(seed, _say).run(_STEPS)
            case "interrupts":
                machine = Machine(seed, _say, striker)
                machine.run(_STEPS)
                struck = machine.struck
            case "threads":
                run_threads(seed, _say)
        faulthandler.cancel_dump_traceback_later()
        return struck

    for seed in range(first, first + count):
        _say(f"seed {seed}")
        run(seed)
        # What lives from now on is not looked at each time that a step collects garbage.
        gc.collect()
        gc.freeze()
        # Once more: by now drivers, caches and pools are there, so nothing may be added. Some of
        # them fill for a few rounds, such as the contexts that routes remember, or have other
        # contents every second time; a leak goes on.
        counts, struck = [_left()], 0
        while len(counts) < 2 or (len(counts) < _ROUNDS and grew(counts, struck)):
            struck = run(seed)
            counts.append(_left())
        if grew(counts, struck):
            raise AssertionError(f"something is left, round by round: {counts}")
    if striker is not None:
        _say(_STRUCK + json.dumps(striker.sites))


def fuzz(kinds: Sequence[str], first: int, seconds: float, count: int | None) -> list[Finding]:
    """Seeds from `first` on, of each kind in turn, until the time or their number is used up."""
    began, findings, done = time.monotonic(), list[Finding](), dict.fromkeys(kinds, 0)
    strikes = Counter[str]()
    start = dict.fromkeys(kinds, first)
    while True:
        for kind in kinds:
            room = (
                _SEEDS_OF_A_CHILD if count is None else min(count - done[kind], _SEEDS_OF_A_CHILD)
            )
            if room <= 0 or (count is None and time.monotonic() - began > seconds):
                continue
            ended, finding = _child(kind, start[kind], room, strikes)
            if finding is not None:
                findings.append(finding)
                print(finding, flush=True)
            done[kind] += ended
            start[kind] += ended
        over = time.monotonic() - began > seconds if count is None else min(done.values()) >= count
        if over:
            if strikes:
                print(sites_table(strikes, unstruck_too=False), flush=True)
            numbers = ", ".join(f"{n} seeds of {kind}" for kind, n in done.items())
            print(f"{numbers} from {first} on, {len(findings)} findings", flush=True)
            return findings


def new_seed() -> int:
    """A first seed that no run of today had."""
    return int(time.time()) % 1_000_000 * 1_000


def _child(kind: str, first: int, count: int, strikes: Counter[str]) -> tuple[int, Finding | None]:
    """Return the number of seeds done, and the one that ended wrong, if any, which is the last."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz"]
    command += ["--kind", kind, "--seed", str(first), "--count", str(count), "--in-this-process"]
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        child = subprocess.run(
            command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, check=False
        )
        output.seek(0)
        lines = output.read().splitlines()
    for line in lines:
        if line.startswith(_STRUCK):
            strikes.update(json.loads(line.removeprefix(_STRUCK)))
    seeds = [number for number, line in enumerate(lines) if line.startswith("seed ")]
    if child.returncode == 0:
        return count, None
    if not seeds:
        return count, Finding(kind, first, "\n".join(lines[-_SHOWN:]))
    last = int(lines[seeds[-1]].split()[1])
    status = child.returncode
    how = signal.Signals(-status).name if status < 0 else f"status {status}"
    steps = "\n".join(["...", *lines[max(seeds[-1], len(lines) - _SHOWN) :]])
    return last - first + 1, Finding(kind, last, f"{how}\n{steps}")


def _left() -> dict[str, int]:
    gc.collect()
    sweep_loans()
    mapped = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    return {
        "descriptors": len([*Path("/proc/self/fd").iterdir()]),
        "storages": len(living_objects(Storage)),
        "mapped files": sum("memfd:" in line for line in mapped),
    }


def grew(counts: Sequence[dict[str, int]], struck: int = 0) -> bool:
    """True if the last round left more of something than each one before.

    Args:
        counts: what was left, round by round.
        struck: how many calls were interrupted in a round. Each may leak the one thing that it was
            acquiring or releasing: a descriptor, or memory with what the drivers map of it.
    """
    *before, last = counts
    return any(
        n > max(earlier[kind] for earlier in before) + struck * _MAY_LEAK.get(kind, 1)
        for kind, n in last.items()
    )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 if there is a finding."""
    parser = argparse.ArgumentParser(prog="dev.py fuzz", description=__doc__)
    parser.add_argument("--kind", choices=KINDS, help="one kind only")
    parser.add_argument("--seed", type=int, default=None, help="the first one (default: the time)")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default 60)")
    parser.add_argument("--count", type=int, help="this many seeds of each kind, however long")
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    first = new_seed() if options.seed is None else options.seed
    kinds = (options.kind,) if options.kind else KINDS
    if options.in_this_process:
        try:
            run_seeds(kinds[0], first, options.count or 1)
        except Exception:
            traceback.print_exc()
            return 1
        return 0
    print(f"the first seed is {first}", flush=True)
    return 1 if fuzz(kinds, first, options.seconds, options.count) else 0
