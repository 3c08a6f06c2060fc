# SPDX-License-Identifier: Apache-2.0
"""The commands of dev.py and their options."""

import argparse
import dataclasses
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from devtools import environment, error_page, removal, suites
from devtools.blocks import docs
from devtools.costs import RECORD, costs
from devtools.fresh import command as trying
from devtools.house_rules import lint
from devtools.lab.kernel import LabUnavailableError, MissingToolError
from devtools.lab.machine import Size
from devtools.lab.tests_in_lab import lab
from devtools.newer import newer
from devtools.results import Result, not_run, table
from devtools.schedule import run_parts, write_results
from devtools.site.build import serve, site
from devtools.venv import PYTHON, VENV
from devtools.wheels import release, wheels
from devtools.workspace import ROOT, CommandError, run

_TEST_HELP = """\
Lint, the site, and all tests: those of all distributions together (in four parts), of each one
alone, without one backend, and of the DMA-BUF lab. Alone and without a backend, tests show that
they work in that company: of a test with many parameters one is run, and what takes long and is
the same in any company runs only together, such as what is marked `together`, and of the kit the
tests of lifetimes, leaks, drop orders, threads, forks, last holders and thousands of frames.
Arguments that are not listed go to pytest, and then only the tests together run, without lint."""
_TEST_FLAGS = {
    "together": "all distributions, editable, in .venv, on software devices: lint and every test",
    "alone": "for each distribution a fresh venv with its wheel, the core's, and what they need; "
    "mappers and the demo get the backends too, without which they have nothing to do",
    "newer": "what meets PyAV's frames, with the newest PyAV, on a newer Python if one is found",
    "hardware": "the tests of devices, on the devices of this machine; without them they skip",
    "strict": "a skip for a missing package or device is a failure, and so are a part that the "
    "set-up left out and a lab that one command could install. torch is the one exception, and "
    "only where pip offers no CPU build of it",
    "fresh": "also `make demo` on a machine that has nothing yet; a failure where root, "
    "debootstrap or the network is missing",
    "ci": "what continuous integration runs: also --fresh and --newer",
}
_LAB_HELP = """\
Runs the tests marked `dmabuf` in a QEMU guest, whose kernel makes DMA-BUFs, with so many MiB and
CPUs, for so many seconds at most, and QEMU's -accel, such as kvm (tcg works everywhere). Arguments
that are not listed go to pytest."""
# Programs of the tests with their own arguments: the module, its software devices, its summary.
_PROGRAMS = {
    "bench": ("tests.bench", (), "measure, beside hand-written code, what samebytes costs"),
    "fuzz": ("tests.fuzz", suites.ALL_DEVICES, "find what random steps over all memory break"),
    "faults": (
        "tests.faults", suites.ALL_DEVICES, "see what a native call that fails leaves behind"
    ),
    "soak": ("tests.soak", (), "find what leaks or stalls in pipelines that run for long"),
    "pictures": (
        "tests.e2e.pictures", ("gpu",), "run the samples, and write the pictures of their pages"
    ),
    "edges": ("devtools.edge_page", (), "write the page of which mapping copies, from all plugins"),
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return the exit status of the process."""
    began = time.monotonic()
    # So that SIGTERM, for example of a time limit, ends started processes as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if rest and not options.takes_more:
        parser.error(f"{options.command} does not know {' '.join(rest)}")
    try:
        done: Sequence[Result] | int = options.run(options, rest)
    except CommandError as error:
        print(f"dev.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("dev.py: stopped", file=sys.stderr)
        return 128 + signal.SIGINT
    if isinstance(done, int):
        return done
    print("\n" + table(done, time.monotonic() - began), flush=True)
    return 0 if all(result.ok for result in done) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev.py", description="Build, check and try samebytes.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(
        name: str,
        function: Callable[[argparse.Namespace, list[str]], Sequence[Result] | int],
        why: str,
        *,
        takes_more: bool = False,
        description: str | None = None,
        own_help: bool = True,
    ) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name, help=why, description=description or why, allow_abbrev=False, add_help=own_help
        )
        command.set_defaults(run=function, takes_more=takes_more)
        return command

    why = "show that a change broke nothing: lint and all tests"
    test = add("test", _test, why, takes_more=True, description=_TEST_HELP)
    for flag, text in _TEST_FLAGS.items():
        test.add_argument(f"--{flag}", action="store_true", help=text)
    without = (
        "for each backend, or NAME, a copy of .venv without it: the rest must work. Those that no "
        "other is tested with are removed at once"
    )
    named = ["", *(backend.name for backend in removal.BACKENDS)]
    test.add_argument("--without", nargs="?", const="", choices=named, metavar="NAME", help=without)
    test.add_argument("--part", help=argparse.SUPPRESS)  # of those side by side
    jobs = "parts at a time, by default as many as CPUs, at most 2; 1 shows all as it comes"
    test.add_argument("--jobs", type=_count, default=min(2, os.cpu_count() or 1), help=jobs)

    why = "try real DMA-BUFs, in a virtual machine whose kernel makes them"
    in_lab = add("lab", _lab, why, takes_more=True, description=_LAB_HELP)
    for field in dataclasses.fields(Size):
        in_lab.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    strict = "a skip for a missing package or device is a failure"
    in_lab.add_argument("--strict", action="store_true", help=strict)

    for name, (_, _, why) in _PROGRAMS.items():
        add(name, _program, why, takes_more=True, own_help=False)
    why = "show what samebytes does; its arguments are those of `samebytes demo`"
    add("demo", _demo, why, takes_more=True, own_help=False)
    add("lint", _lint, "find what ruff, mypy and the rules of this repository complain of")
    add("docs", lambda *_: [docs()], "find code in the documents that nothing runs")
    add(
        "errors",
        lambda *_: error_page.write(),
        "write docs/reference/errors.md, the list of error messages",
    )
    why = "write the pages and plots of costs from a run's JSON"
    given = add("costs", _costs, why)
    record = "the JSON of `samebytes bench --json`"
    given.add_argument("record", nargs="?", type=Path, default=RECORD, help=record)
    built = add("site", _site, "build the documentation site, strictly, in build/site")
    shown = "show it on this machine, and build it at each change"
    built.add_argument("--serve", action="store_true", help=shown)
    add("wheels", _wheels, "build and check all sdists and wheels for release, in dist/")
    add("release", _release, "the same, with a list of what to upload, and in which order")
    setup = add("setup", _setup, "install what the tests or the demo need, without running them")
    setup.add_argument("what", nargs="?", choices=("tests", "demo"), default="tests")
    why = "try the set-ups on machines that have nothing yet"
    tried = add("fresh", lambda options, _: trying.fresh(options), why)
    tried.description, tried.formatter_class = trying.HELP, argparse.RawDescriptionHelpFormatter
    trying.add_options(tried)
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _test(options: argparse.Namespace, rest: list[str]) -> Sequence[Result] | int:
    strict, chosen = options.strict, _chosen_parts(options, rest)
    apart = options.part is None and options.jobs > 1 and len(chosen) > 1
    if options.part is None and not apart:
        environment.prepare_tests()
    # If pip offers no CPU build of it, a strict run cannot demand one.
    may_miss = ["torch"] if environment.why_left_out("torch") else []
    parts: dict[str, Callable[[], Sequence[Result]]] = {
        # The longest first: the short ones fill the gaps.
        **_together(rest, strict=strict, may_miss=may_miss),
        "alone": lambda: suites.alone(strict=strict),
        "without": lambda: removal.without(options.without or "", strict=strict, may_miss=may_miss),
        "fresh": trying.hardest,
        "lab": lambda: [_lab_where_it_can_be(strict=strict, may_miss=may_miss)],
        "newer": lambda: [newer(strict=strict, may_miss=may_miss, quick=options.ci)],
        "lint": lambda: [lint(), docs(), site_if_there(strict=strict)],
        "hardware": lambda: [suites.hardware(rest, strict=strict, may_miss=may_miss)],
    }
    if options.part is not None:
        write_results(options.part, _results(options.part, parts[options.part]))
        return 0
    names = [name for name in parts if name.partition(" ")[0] in chosen]
    if apart:
        results = run_parts(
            names,
            options.jobs,
            [sys.executable, ROOT / "dev.py", *sys.argv[1:], "--part"],
            set_up=environment.prepare_tests,
            meanwhile=["fresh"],  # uses nothing of this machine's .venv
        )
    else:
        results = [result for name in names for result in _results(name, parts[name])]
    return [*environment.left_out(strict=strict), *results]


def _results(name: str, part: Callable[[], Sequence[Result]]) -> Sequence[Result]:
    try:
        return part()
    except CommandError as error:
        return [Result(name, False, str(error))]


def _together(
    rest: list[str], *, strict: bool, may_miss: Sequence[str]
) -> dict[str, Callable[[], Sequence[Result]]]:
    """The jobs of the tests together: parts, or a single one if the caller passes arguments."""
    parts = {f"together {name}": paths for name, paths in suites.parts_together().items()}
    if rest:
        parts = {"together": rest}

    def job(name: str, arguments: list[str]) -> Callable[[], Sequence[Result]]:
        return lambda: [suites.together(arguments, strict=strict, may_miss=may_miss, name=name)]

    return {name: job(name, arguments) for name, arguments in parts.items()}


def _chosen_parts(options: argparse.Namespace, rest: Sequence[str]) -> set[str]:
    chosen = {name for name in ("together", "alone", "newer", "hardware") if getattr(options, name)}
    if options.without is not None:
        chosen.add("without")
    if rest:
        return chosen & {"hardware"} or {"together"}
    if options.ci:
        return {"lint", "together", "alone", "without", "lab", "fresh", "newer"}
    if "together" in chosen:
        chosen.add("lint")
    chosen = chosen or {"lint", "together", "alone", "without", "lab"}
    return chosen | {"fresh"} if options.fresh else chosen


def _lab_where_it_can_be(*, strict: bool, may_miss: Sequence[str]) -> Result:
    try:
        return lab(strict=strict, may_miss=may_miss)
    except LabUnavailableError as error:
        # Packages that the set-up should have installed must not be missing silently.
        if strict and isinstance(error, MissingToolError):
            return Result("lab", False, str(error))
        return not_run("lab", f"{error}; so tests on DMA-BUFs ran nowhere")


def _demo(_: argparse.Namespace, rest: list[str]) -> int:
    environment.prepare_demo()
    return run([VENV / "bin" / "samebytes", "demo", *rest])


def _lint(*_: object) -> list[Result]:
    environment.prepare()
    return [lint()]


def _program(options: argparse.Namespace, rest: list[str]) -> int:
    environment.prepare_tests()
    module, devices, _ = _PROGRAMS[options.command]
    on_devices: list[str | Path] = []
    if devices:
        names = (f"--{device}" for device in devices)
        on_devices = [VENV / "bin" / "samebytes-softdevices", "run", *names, "--"]
    return run([*on_devices, PYTHON, "-m", module, *rest])


def _costs(options: argparse.Namespace, _: list[str]) -> int:
    for path in costs(options.record):
        print(path)
    return 0


def _lab(options: argparse.Namespace, rest: list[str]) -> list[Result]:
    environment.prepare()
    size = Size(options.memory, options.cpus, options.timeout, options.accelerator)
    return [lab(rest, strict=options.strict, size=size)]


def _setup(options: argparse.Namespace, _: list[str]) -> int:
    (environment.prepare_demo if options.what == "demo" else environment.prepare_tests)()
    return 0


def _wheels(*_: object) -> list[Result]:
    environment.prepare()
    return [wheels(ROOT / "dist")]


def _release(*_: object) -> list[Result]:
    environment.prepare()
    return release(ROOT / "dist")


def _site(options: argparse.Namespace, _: list[str]) -> list[Result] | int:
    environment.prepare_site()
    return serve() if options.serve else [site()]


def site_if_there(*, strict: bool) -> Result:
    """Build the site, unless the set-up left its builders out: a strict run fails then."""
    reason = environment.why_left_out("docs")
    if reason:
        return Result("site", False, reason) if strict else not_run("site", reason)
    return site()
