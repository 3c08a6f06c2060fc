# SPDX-License-Identifier: Apache-2.0
"""The commands of dev.py and their options."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence

from devtools import environment, removal, tiers
from devtools.docs import docs
from devtools.lab.machine import Size
from devtools.lab.tests_in_lab import lab
from devtools.lab.unavailable import LabUnavailableError, MissingToolError
from devtools.lint import lint
from devtools.results import Result, not_run, table
from devtools.schedule import Job, run_jobs
from devtools.workspace import ROOT, CommandError, run

_TEST_HELP = """\
Runs lint and all tests, two parts at a time: the tests of all distributions together, those of
each one alone, those without one backend, and those of the DMA-BUF lab.

  --together        all distributions, editable, in .venv, on software devices: lint and every test
  --alone           for each distribution a fresh venv with its wheel, the core's wheel and what
                    they depend on; the mappers and the demo also get the backends, without which
                    they have nothing to do
  --without [NAME]  for each backend, or the one named, a copy of .venv from which it is removed:
                    what is left must work
  --hardware        the tests of devices, on the devices of this machine; without them they skip
  --strict          a skip for a missing package or device is a failure, and so is a lab that
                    one command could install. torch is the one exception, and only where pip
                    offers no CPU build of it. Tests alone may miss what other distributions bring.
  --jobs N          parts at a time, each shown whole when it ends; by default as many as CPUs, at
                    most 2; with 1 all is shown as it comes

Without --strict the lab runs only where it can. Where its kernel cannot be had it is `not run`,
strict or not, and the last lines say why.

Anything else goes to pytest, and then only the tests together run, without lint:
  python3 dev.py test -k planes backends/ffmpeg
"""
_LAB_HELP = """\
Runs the tests marked `dmabuf` in a QEMU guest, whose kernel makes DMA-BUFs.

  --timeout S      seconds until the guest is stopped (default 900)
  --memory MIB     the guest's memory (default 2048)
  --cpus N         the guest's CPUs (default 1)
  --accelerator A  QEMU's -accel, such as kvm (default tcg, which works everywhere)
  --strict         a skip for a missing package or device is a failure

Anything else goes to pytest:
  python3 dev.py lab backends/dma -k heap
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status of the process."""
    # So that SIGTERM, such as a time limit's, ends what was started as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if rest and not options.takes_more:
        parser.error(f"{options.command} does not know {' '.join(rest)}")
    try:
        status: int = options.run(options, rest)
    except CommandError as error:
        print(f"dev.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("dev.py: stopped", file=sys.stderr)
        return 128 + signal.SIGINT
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev.py", description="Build, check and try samebytes.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_test(commands)
    _add_lab(commands)
    for name, function, takes_more, text in (
        ("demo", _demo, True, "the demo; its arguments are those of `samebytes demo`"),
        ("lint", _lint, False, "ruff, mypy and the rules of this repository"),
        ("bench", _bench, True, "the benchmarks"),
        ("docs", _docs, False, "check that the links of the documentation lead somewhere"),
        ("setup", _setup, False, "only make .venv"),
    ):
        command = commands.add_parser(name, help=text, allow_abbrev=False, add_help=not takes_more)
        command.set_defaults(run=function, takes_more=takes_more)
    return parser


# argparse's own type of `commands` is private.
def _add_test(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    test = commands.add_parser(
        "test",
        help="lint and all tests",
        description=_TEST_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for flag in ("--together", "--alone", "--hardware", "--strict"):
        test.add_argument(flag, action="store_true", help=argparse.SUPPRESS)
    test.add_argument("--without", nargs="?", const="", metavar="NAME", help=argparse.SUPPRESS)
    test.add_argument(
        "--jobs", type=_count, default=min(2, os.cpu_count() or 1), help=argparse.SUPPRESS
    )
    test.set_defaults(run=_test, takes_more=True)


def _add_lab(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "lab",
        help="tests in a virtual machine whose kernel makes DMA-BUFs",
        description=_LAB_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    usual = Size()
    command.add_argument("--timeout", type=float, default=usual.timeout, help=argparse.SUPPRESS)
    command.add_argument("--memory", type=_count, default=usual.memory, help=argparse.SUPPRESS)
    command.add_argument("--cpus", type=_count, default=usual.cpus, help=argparse.SUPPRESS)
    command.add_argument("--accelerator", default="tcg", help=argparse.SUPPRESS)
    command.add_argument("--strict", action="store_true", help=argparse.SUPPRESS)
    command.set_defaults(run=_lab, takes_more=True)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _test(options: argparse.Namespace, rest: list[str]) -> int:
    began = time.monotonic()
    environment.prepare()
    strict = options.strict
    may_miss = _no_torch()
    jobs = {
        # The longest first: the short ones fill what the two of them leave.
        "alone": lambda: tiers.alone(strict=strict),
        "together": lambda: [tiers.together(rest, strict=strict, may_miss=may_miss)],
        "without": lambda: removal.without(
            [options.without] if options.without else [], strict=strict, may_miss=may_miss
        ),
        "lab": lambda: [_lab_where_it_can_be(strict=strict, may_miss=may_miss)],
        "lint": lambda: [lint(), docs()],
        "hardware": lambda: [tiers.hardware(rest, strict=strict, may_miss=may_miss)],
    }
    chosen = _chosen_parts(options, rest)
    results = run_jobs([Job(name, jobs[name]) for name in jobs if name in chosen], options.jobs)
    return _report(results, began)


def _chosen_parts(options: argparse.Namespace, rest: Sequence[str]) -> set[str]:
    chosen = {name for name in ("together", "alone", "hardware") if getattr(options, name)}
    if options.without is not None:
        chosen.add("without")
    if rest:
        return chosen & {"hardware"} or {"together"}
    if "together" in chosen:
        chosen.add("lint")
    return chosen or {"lint", "together", "alone", "without", "lab"}


def _lab_where_it_can_be(*, strict: bool, may_miss: Sequence[str]) -> Result:
    try:
        return lab(strict=strict, may_miss=may_miss)
    except LabUnavailableError as error:
        # What set-up would have installed must not be missed in silence for ever.
        if strict and isinstance(error, MissingToolError):
            return Result("lab", False, str(error))
        return not_run("lab", f"{error}; so tests on DMA-BUFs ran nowhere")


def _no_torch() -> list[str]:
    """What a strict run may miss: torch, where it cannot be installed."""
    reason = environment.prepare_arrays()
    if reason is None:
        return []
    print(f"torch is left out and the tests that need it skip: {reason}")
    return ["torch"]


def _report(results: Sequence[Result], began: float) -> int:
    print("\n" + table(results, time.monotonic() - began), flush=True)
    return 0 if all(result.ok for result in results) else 1


def _demo(_: argparse.Namespace, rest: list[str]) -> int:
    environment.prepare()
    return run([environment.VENV / "bin" / "samebytes", "demo", *rest])


def _lint(*_: object) -> int:
    began = time.monotonic()
    environment.prepare()
    return _report([lint()], began)


def _bench(_: argparse.Namespace, rest: list[str]) -> int:
    benchmarks = ROOT / "tests" / "bench"
    if not (benchmarks / "__main__.py").exists():
        raise CommandError(f"there are no benchmarks: {benchmarks}/__main__.py is not there")
    environment.prepare()
    return run([environment.PYTHON, "-m", "tests.bench", *rest])


def _docs(*_: object) -> int:
    began = time.monotonic()
    return _report([docs()], began)


def _lab(options: argparse.Namespace, rest: list[str]) -> int:
    began = time.monotonic()
    environment.prepare()
    size = Size(options.memory, options.cpus, options.timeout)
    result = lab(rest, strict=options.strict, size=size, accelerator=options.accelerator)
    return _report([result], began)


def _setup(*_: object) -> int:
    environment.prepare()
    return 0
