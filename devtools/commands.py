# SPDX-License-Identifier: Apache-2.0
"""The commands of dev.py and their options."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from devtools import environment, error_page, metadata, release, removal, suites
from devtools.costs import RECORD, costs
from devtools.docs import docs
from devtools.fresh.command import add_fresh, hardest
from devtools.lab.machine import Size
from devtools.lab.tests_in_lab import lab
from devtools.lab.unavailable import LabUnavailableError, MissingToolError
from devtools.lint import lint
from devtools.newer import newer
from devtools.results import Result, not_run, table
from devtools.schedule import Job, run_jobs
from devtools.site.build import serve, site
from devtools.venv import PYTHON, VENV
from devtools.wheels import wheels
from devtools.workspace import ROOT, CommandError, run

_TEST_HELP = """\
Runs lint, builds the site, and runs all tests, two parts at a time: the tests of all distributions
together (in four parts), those of each one alone, those without one backend, and those of the
DMA-BUF lab.

  --together        all distributions, editable, in .venv, on software devices: lint and every test
  --alone           for each distribution a fresh venv with its wheel, the core's wheel and what
                    they depend on; the mappers and the demo also get the backends, without which
                    they have nothing to do
  --without [NAME]  for each backend, or the one named, a copy of .venv from which it is removed:
                    what is left must work
  --newer           the FFmpeg backend, the mappers and the demo with the newest PyAV, on a newer
                    Python if one is on PATH or in pyenv, in a fresh venv; only if asked for
  --hardware        the tests of devices, on the devices of this machine; without them they skip
  --strict          a skip for a missing package or device is a failure, and so are a part that
                    the set-up left out and a lab that one command could install. torch is the
                    one exception, and only where pip offers no CPU build of it. Tests alone may
                    miss what other distributions bring.
  --fresh           also `make demo` on a machine that has nothing yet, as `dev.py fresh` makes it;
                    a failure where root, debootstrap or the network is missing
  --ci              what continuous integration runs: also --fresh and --newer
  --jobs N          parts at a time, each shown whole when it ends; by default as many as CPUs, at
                    most 2; with 1 all is shown as it comes

Alone and without a backend, tests show that they work in that company. So of a test with many
parameters one is run, and what takes long and is the same in any company runs only together:
of the kit the tests of lifetimes, leaks, drop orders, threads, forks, last holders and thousands
of frames, and what is marked `together`, such as faults that the kit and `samebytes check-plugin`
must notice, random input, interrupts at any instruction, and programs that hang or are ended.

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
    _add_metadata(commands)
    _add_site(commands)
    for name, function, takes_more, text in (
        ("demo", _demo, True, "the demo; its arguments are those of `samebytes demo`"),
        ("lint", _lint, False, "ruff, mypy and the rules of this repository"),
        ("bench", _bench, True, "the benchmarks"),
        ("costs", _costs, True, "write the pages and plots of costs from a run's JSON"),
        ("fuzz", _fuzz, True, "random steps over all memory types, on software devices"),
        (
            "faults",
            _faults,
            True,
            "each native call under the public operations fails in turn, on software devices",
        ),
        ("soak", _soak, True, "pipelines that fail and start again, for a minute or longer"),
        ("pictures", _pictures, False, "run the samples, and write the pictures of their pages"),
        ("docs", _docs, False, "check the links of the documentation, and that its code is run"),
        ("errors", _errors, False, "write docs/reference/errors.md, the list of error messages"),
        ("edges", _edges, False, "write the page of which mapping copies, from all plugins"),
        ("wheels", _wheels, False, "build and check all sdists and wheels for release, in dist/"),
        (
            "release",
            _release,
            False,
            "the same, and lists what it was built with and what to upload",
        ),
    ):
        command = commands.add_parser(name, help=text, allow_abbrev=False, add_help=not takes_more)
        command.set_defaults(run=function, takes_more=takes_more)
    setup = commands.add_parser("setup", help="only the set-up, for the tests or the demo")
    setup.add_argument("what", nargs="?", choices=("tests", "demo"), default="tests")
    setup.set_defaults(run=_setup, takes_more=False)
    add_fresh(commands)
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
    for flag in ("--together", "--alone", "--newer", "--hardware", "--strict", "--fresh", "--ci"):
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


def _add_metadata(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "metadata",
        help="copy the project's URLs into every pyproject.toml",
        allow_abbrev=False,
    )
    command.add_argument("--repository", metavar="URL", help="its home on GitHub, from now on")
    command.set_defaults(run=_metadata, takes_more=False)


def _add_site(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "site",
        help="build the documentation site, strictly, in build/site",
        allow_abbrev=False,
    )
    command.add_argument(
        "--serve", action="store_true", help="show it on this machine, and build it at each change"
    )
    command.add_argument("--port", type=_count, default=8000, help="for --serve (8000)")
    command.set_defaults(run=_site, takes_more=False)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _test(options: argparse.Namespace, rest: list[str]) -> int:
    began = time.monotonic()
    environment.prepare_tests()
    strict = options.strict
    # Where pip offers no CPU build of it, there is nothing that a strict run could ask for.
    may_miss = ["torch"] if environment.why_left_out("torch") else []
    jobs: dict[str, Callable[[], Sequence[Result]]] = {
        # The longest first: the short ones fill what they leave.
        **_together(rest, strict=strict, may_miss=may_miss),
        "alone": lambda: suites.alone(strict=strict),
        "without": lambda: removal.without(
            [options.without] if options.without else [], strict=strict, may_miss=may_miss
        ),
        "fresh": hardest,
        "newer": lambda: [newer(strict=strict, may_miss=may_miss)],
        "lab": lambda: [_lab_where_it_can_be(strict=strict, may_miss=may_miss)],
        "lint": lambda: [lint(), docs(), site_if_there(strict=strict)],
        "hardware": lambda: [suites.hardware(rest, strict=strict, may_miss=may_miss)],
    }
    chosen = _chosen_parts(options, rest)
    results = run_jobs(
        [Job(name, jobs[name]) for name in jobs if name.partition(" ")[0] in chosen], options.jobs
    )
    return _report([*environment.left_out(strict=strict), *results], began)


def _together(
    rest: list[str], *, strict: bool, may_miss: Sequence[str]
) -> dict[str, Callable[[], Sequence[Result]]]:
    """The jobs of the tests together: parts, or one where pytest gets arguments of the caller's."""
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
        # What the set-up would have installed must not be missed silently.
        if strict and isinstance(error, MissingToolError):
            return Result("lab", False, str(error))
        return not_run("lab", f"{error}; so tests on DMA-BUFs ran nowhere")


def _report(results: Sequence[Result], began: float) -> int:
    print("\n" + table(results, time.monotonic() - began), flush=True)
    return 0 if all(result.ok for result in results) else 1


def _demo(_: argparse.Namespace, rest: list[str]) -> int:
    environment.prepare_demo()
    return run([VENV / "bin" / "samebytes", "demo", *rest])


def _lint(*_: object) -> int:
    began = time.monotonic()
    environment.prepare()
    return _report([lint()], began)


def _bench(_: argparse.Namespace, rest: list[str]) -> int:
    benchmarks = ROOT / "tests" / "bench"
    if not (benchmarks / "__main__.py").exists():
        raise CommandError(f"there are no benchmarks: {benchmarks}/__main__.py is not there")
    environment.prepare()
    return run([PYTHON, "-m", "tests.bench", *rest])


def _costs(_: argparse.Namespace, rest: list[str]) -> int:
    if len(rest) > 1:
        raise CommandError("costs takes one file: the JSON of `samebytes bench --json`")
    record = Path(rest[0]) if rest else RECORD
    if not record.exists():
        raise CommandError(f"{record} is not there: samebytes bench --json > {record}")
    for path in costs(record):
        print(path)
    return 0


def _soak(_: argparse.Namespace, rest: list[str]) -> int:
    environment.prepare_tests()
    return run([PYTHON, "-m", "tests.soak", *rest])


def _pictures(*_: object) -> int:
    environment.prepare_tests()
    runner = VENV / "bin" / "samebytes-softdevices"
    return run([runner, "run", "--gpu", "--", PYTHON, "-m", "tests.e2e.pictures"])


def _fuzz(_: argparse.Namespace, rest: list[str]) -> int:
    environment.prepare_tests()
    devices = [f"--{device}" for device in suites.ALL_DEVICES]
    runner = VENV / "bin" / "samebytes-softdevices"
    return run([runner, "run", *devices, "--", PYTHON, "-m", "tests.fuzz", *rest])


def _faults(_: argparse.Namespace, rest: list[str]) -> int:
    environment.prepare_tests()
    devices = [f"--{device}" for device in suites.ALL_DEVICES]
    runner = VENV / "bin" / "samebytes-softdevices"
    return run([runner, "run", *devices, "--", PYTHON, "-m", "tests.faults", *rest])


def _docs(*_: object) -> int:
    began = time.monotonic()
    return _report([docs()], began)


def _edges(*_: object) -> int:
    environment.prepare_tests()
    return run([PYTHON, "-m", "devtools.edge_page"])


def _errors(*_: object) -> int:
    error_page.write()
    return 0


def _lab(options: argparse.Namespace, rest: list[str]) -> int:
    began = time.monotonic()
    environment.prepare()
    size = Size(options.memory, options.cpus, options.timeout)
    result = lab(rest, strict=options.strict, size=size, accelerator=options.accelerator)
    return _report([result], began)


def _setup(options: argparse.Namespace, _: list[str]) -> int:
    if options.what == "demo":
        environment.prepare_demo()
    else:
        environment.prepare_tests(again=True)
    return 0


def _wheels(*_: object) -> int:
    began = time.monotonic()
    environment.prepare()
    return _report([wheels(ROOT / "dist")], began)


def _release(*_: object) -> int:
    began = time.monotonic()
    environment.prepare_release()
    return _report(release.release(ROOT / "dist"), began)


def _site(options: argparse.Namespace, _: list[str]) -> int:
    began = time.monotonic()
    environment.prepare_site()
    return serve(options.port) if options.serve else _report([site()], began)


def site_if_there(*, strict: bool) -> Result:
    """Build the site, unless the set-up left out what it is built with, which a strict run says."""
    reason = environment.why_left_out("docs")
    if reason:
        return Result("site", False, reason) if strict else not_run("site", reason)
    return site()


def _metadata(options: argparse.Namespace, _: list[str]) -> int:
    metadata.write(options.repository)
    return 0
