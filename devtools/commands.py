# SPDX-License-Identifier: Apache-2.0
"""The commands of dev.py and their options."""

import argparse
import sys
import time
from collections.abc import Sequence

from devtools import environment, tiers
from devtools.docs import docs
from devtools.lint import lint
from devtools.tiers import Result
from devtools.workspace import ROOT, CommandError, run

_TEST_HELP = """\
Runs lint, then the tests of all distributions together, then those of each one alone.

  --together  all distributions, editable, in .venv, on software devices: lint and every test
  --alone     for each distribution a fresh venv with its wheel, the core's wheel and what they
              depend on; the mappers and the demo also get the backends, without which they
              have nothing to do
  --hardware  the tests that need a real GPU or NPU, and nothing else
  --strict    a skip for a missing package is a failure. torch is the one exception, and only
              where pip offers no CPU build of it. Tests alone may miss what other
              distributions bring.

Anything else goes to pytest, and then only the tests together run, without lint:
  python3 dev.py test -k planes backends/ffmpeg
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status of the process."""
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if rest and not options.takes_more:
        parser.error(f"{options.command} does not know {' '.join(rest)}")
    try:
        status: int = options.run(options, rest)
    except CommandError as error:
        print(f"dev.py: {error}", file=sys.stderr)
        return 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev.py", description="Build, check and try samebytes.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    test = commands.add_parser(
        "test",
        help="lint and all tests",
        description=_TEST_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for flag in ("--together", "--alone", "--hardware", "--strict"):
        test.add_argument(flag, action="store_true", help=argparse.SUPPRESS)
    test.set_defaults(run=_test, takes_more=True)
    for name, function, takes_more, text in (
        ("demo", _demo, True, "the demo; its arguments are those of `samebytes demo`"),
        ("lint", _lint, False, "ruff, mypy and the rules of this repository"),
        ("bench", _bench, True, "the benchmarks"),
        ("docs", _docs, False, "check that the links of the documentation lead somewhere"),
        ("lab", _lab, True, "tests in a virtual machine whose kernel makes DMA-BUFs"),
        ("setup", _setup, False, "only make .venv"),
    ):
        command = commands.add_parser(name, help=text, allow_abbrev=False, add_help=not takes_more)
        command.set_defaults(run=function, takes_more=takes_more)
    return parser


def _test(options: argparse.Namespace, rest: list[str]) -> int:
    began = time.monotonic()
    everything = not (options.together or options.alone or options.hardware or rest)
    results: list[Result] = []
    environment.prepare()
    if everything or options.together or options.hardware or rest:
        if not (options.hardware or rest):
            results += [lint(), docs()]
        chosen = "hardware" if options.hardware else "not hardware"
        results.append(
            tiers.together(
                ["-m", chosen, *rest],
                devices=() if options.hardware else tiers.ALL_DEVICES,
                strict=options.strict,
                may_miss=_no_torch(),
            )
        )
    if everything or options.alone:
        results += tiers.alone(strict=options.strict)
    return _report(results, began)


def _no_torch() -> list[str]:
    """What a strict run may miss: torch, where it cannot be installed."""
    reason = environment.prepare_arrays()
    if reason is None:
        return []
    print(f"torch is left out and the tests that need it skip: {reason}")
    return ["torch"]


def _report(results: Sequence[Result], began: float) -> int:
    print("\n" + "\n".join(map(str, results)))
    print(f"{time.monotonic() - began:.0f} s in all", flush=True)
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


def _lab(*_: object) -> int:
    print("the DMA-BUF lab comes with the dma backend, which is not part of this version")
    return 2


def _setup(*_: object) -> int:
    environment.prepare()
    return 0
