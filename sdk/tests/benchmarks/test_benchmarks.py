# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: what is called how often, what is declared, and what the report says. None times."""

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING, Any

import pytest

import samebytes as sb
from samebytes.__main__ import main
from samebytes._cli import bench
from samebytes.benchmarks import (
    Benchmark,
    CannotMeasureError,
    Effort,
    Ways,
    _timing,
    along,
    check_way,
    measure,
    offers,
)
from samebytes.benchmarks._profile import costliest, profiled
from samebytes.benchmarks._report import Row, row_of

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

Capture = pytest.CaptureFixture[str]
_LITTLE = Effort(repeats=2, rounds=3, seconds=1e-9)

_ROWS = """
from samebytes.benchmarks import Benchmark

BENCHMARKS = [
    Benchmark(name="a row", what="A ring turns", make="ring_ways:turn", beside="turn()", goal=2),
    Benchmark(name="absent", what="A ring turns", make="ring_ways:turn", requires=("nobody",)),
    Benchmark(name="no package", what="A ring turns", make="ring_ways:turn",
              packages={"no_such_package": "pip install nothing"}),
    Benchmark(name="not here", what="A ring turns", make="ring_ways:not_here"),
    Benchmark(name="raises", what="A ring turns", make="ring_ways:raises"),
    Benchmark(name="sizes", what="A ring turns", make="ring_ways:turn",
              sizes=((64, 32), (128, 64))),
    Benchmark(name="crashes", what="A ring turns", make="ring_ways:crashes"),
    Benchmark(name="after it", what="A ring turns", make="ring_ways:turn"),
]
"""
_WAYS = """
import os
from samebytes.benchmarks import CannotMeasureError, Ways

def turn(width, height):
    print("noise")
    return Ways(ours=lambda: None, by_hand=lambda: None, copying=lambda: bytes(width))

def not_here(width, height):
    raise CannotMeasureError("there is no ring")

def raises(width, height):
    raise ValueError("a broken ring")

def crashes(width, height):
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def wheel(site: Site) -> Site:
    """A plugin with benchmarks."""
    site.plugin("wheel")
    site.module("ring_ways", _WAYS)
    benchmarks(site, _ROWS)
    return site


def benchmarks(site: Site, code: str) -> None:
    site.module("ring_benchmarks", code)
    site.distribution("ring-benchmarks", "[samebytes.benchmarks]\nwheel = ring_benchmarks\n")


def one_row(rest: str) -> str:
    """A module with one benchmark."""
    head = "from samebytes.benchmarks import Benchmark"
    return f"{head}\nBENCHMARKS = [Benchmark(name='a', what='b', {rest})]"


def report(capsys: Capture, *arguments: str) -> dict[str, Any]:
    assert main(["bench", "--quick", "--json", *arguments]) == 0
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return made


def test_the_ways_take_turns() -> None:
    order: list[str] = []
    measured = measure(
        Ways(ours=lambda: order.append("ours"), by_hand=lambda: order.append("by hand")), _LITTLE
    )
    last = order[-2 * _LITTLE.rounds :]
    assert last == ["ours", "by hand"] * _LITTLE.rounds
    assert measured.by_hand is not None
    assert measured.copying is None
    assert measured.spread is not None
    assert measured.spread[0] <= measured.spread[1]


def test_the_ratio_is_the_median_over_the_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least times may be those of different repeats."""
    times = iter([(3.0, 2.0), (3.0, 1.0), (2.0, 1.6)])

    def least(*_: object) -> dict[str, float]:
        return dict(zip(("ours", "by_hand"), next(times), strict=True))

    monkeypatch.setattr(_timing, "_least", least)
    ways = Ways(ours=lambda: None, by_hand=lambda: None)
    measured = measure(ways, Effort(repeats=3, rounds=1, seconds=1e-9))
    assert (measured.ours, measured.by_hand) == (2e6, 1e6)
    assert measured.ratio == 1.5
    assert measured.spread == (1.25, 3.0)


def test_times_that_the_calls_return() -> None:
    measured = measure(Ways(ours=lambda: 3e-3, by_hand=lambda: 1e-3, timed=True), _LITTLE)
    assert (measured.ours, measured.by_hand) == (3000.0, 1000.0)
    assert measured.ratio == measured.spread[0] == 3.0  # type: ignore[index]  # by hand is there


def test_fresh_gives_each_call_a_new_object() -> None:
    seen: list[object] = []
    made: list[object] = []

    def fresh() -> object:
        made.append(object())
        return made[-1]

    measure(Ways(ours=seen.append, fresh=fresh), _LITTLE)
    assert seen == made
    assert len(seen) == len(set(map(id, seen)))


def test_each_divides() -> None:
    calls: list[int] = []
    once = measure(Ways(ours=lambda: calls.extend(range(20_000))), _LITTLE)
    parts = measure(Ways(ours=lambda: calls.extend(range(20_000)), each=10**6), _LITTLE)
    assert parts.ours < once.ours  # a millionth of it: no machine is so noisy


def test_the_collector_is_as_it_was() -> None:
    on: list[bool] = []
    assert gc.isenabled()
    measure(Ways(ours=lambda: on.append(gc.isenabled())), _LITTLE)
    assert gc.isenabled()
    assert not any(on)
    with pytest.raises(ZeroDivisionError):
        measure(Ways(ours=lambda: 1 // 0), _LITTLE)
    assert gc.isenabled()


def test_an_edge_that_copies_is_used_alone() -> None:
    import numpy as np

    cpu, array = sb.context("cpu"), np.ones((4, 8), np.uint8)[:, :5]
    tensor = sb.tensor(array)
    copied = along("cpu -> cpu tensor copy", tensor, cpu)(tensor)
    assert copied.native.flags.c_contiguous
    assert (copied.native == array).all()


def test_what_goes_another_way_is_not_measured() -> None:
    tensor = sb.context("cpu").allocate((4,))
    with pytest.raises(CannotMeasureError, match="goes another way"):
        check_way("cpu -> cpu tensor copy", tensor, "cpu")
    with pytest.raises(CannotMeasureError, match="no plugin here has the edge"):
        along("cpu -> nowhere tensor alias", tensor, sb.context("cpu"))


@pytest.mark.usefixtures("site")
def test_the_core_declares_its_own() -> None:
    own = offers()[0]
    assert own.plugin == "cpu"
    assert not own.problem
    assert {"identity map()", "tensor(array)"} <= {b.name for b in own.benchmarks}


def test_declaring_imports_nothing_that_is_measured(site: Site) -> None:
    found = site.python(
        "-c",
        "import sys; import samebytes.benchmarks as b; b.offers(); "
        "print([m for m in sys.modules if m.startswith('samebytes._benchmarks.')])",
    )
    assert found.stdout.strip() == "[]"


@pytest.mark.usefixtures("wheel")
def test_rows_of_a_third_party(capsys: Capture) -> None:
    rows = {(r["name"], r["size"][0]): r for r in report(capsys, "wheel")["rows"]}
    row = rows["a row", 1920]
    assert row["ours"] > 0
    assert row["spread"][0] <= row["ratio"] <= row["spread"][1]
    assert row["sentence"].startswith("A ring turns in ")
    assert "as long as by hand (turn())" in row["sentence"]
    assert "copying way takes" in row["sentence"]
    reasons = {name: r["reason"] for (name, _), r in rows.items() if r["ours"] is None}
    assert reasons["absent"] == "plugin 'nobody' is not installed"
    assert "no_such_package" in reasons["no package"]
    assert "pip install nothing" in reasons["no package"]
    assert reasons["not here"] == "there is no ring"
    assert "ValueError: a broken ring" in reasons["raises"]
    assert "SIGKILL" in reasons["crashes"]
    assert reasons["after it"].startswith("'crashes', before it, ended the process")
    assert rows["sizes", 64]["ours"] > 0
    assert ("sizes", 128) not in rows  # --quick takes the first size


@pytest.mark.usefixtures("wheel")
@pytest.mark.together
def test_all_is_in_the_report_of_all(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "wheel")  # whatever else is installed
    sb.refresh()
    made = report(capsys)
    assert made["samebytes"] == sb.__version__
    assert made["quick"] is True
    assert {"cpu", "wheel"} <= {row["plugin"] for row in made["rows"]}
    others = [row for row in made["rows"] if row["plugin"] not in ("cpu", "wheel")]
    assert "openvino" in {row["plugin"] for row in others}
    assert {row["ours"] for row in others} == {None}
    assert all(row["reason"] for row in others)


@pytest.mark.usefixtures("wheel")
def test_the_table(capsys: Capture) -> None:
    assert main(["bench", "--quick", "wheel"]) == 0
    out = capsys.readouterr().out
    assert "a row" in out
    assert "a row, 1920x1080: A ring turns in " in out
    assert "Not measured:" in out
    assert "  not here (wheel): there is no ring" in out


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise RuntimeError('no')", "importing ring_benchmarks raised RuntimeError"),
        ("", "AttributeError"),
        ("BENCHMARKS = [1]", "is not a samebytes.benchmarks.Benchmark"),
        (one_row("make='c'"), 'is not "module:function"'),
        (one_row("make='c:d', edges=('cpu',)"), "is not an edge"),
        (one_row("make='c:d', sizes=()"), "has no sizes"),
    ],
)
def test_a_faulty_module(site: Site, capsys: Capture, code: str, expected: str) -> None:
    site.plugin("wheel")
    benchmarks(site, code)
    (row,) = report(capsys, "wheel")["rows"]
    assert row["ours"] is None
    assert expected in row["reason"]


def test_benchmarks_of_a_plugin_that_was_set_aside(site: Site, capsys: Capture) -> None:
    site.module("ring_ways", _WAYS)
    benchmarks(site, _ROWS)
    rows = report(capsys, "wheel")["rows"]
    assert {row["reason"] for row in rows} == {"plugin 'wheel' is not installed"}


@pytest.mark.usefixtures("site")
def test_an_unknown_name(capsys: Capture) -> None:
    assert main(["bench", "rinq"]) == 2
    assert "rinq" in capsys.readouterr().err


def test_a_row_says_whether_it_is_above_its_goal() -> None:
    row = Row("p", "n", (1, 1), goal=1.5, ours=3.0, by_hand=1.0, ratio=3.0)
    assert row.above_goal
    assert not Row("p", "n", (1, 1), goal=1.5, ours=1.0, by_hand=1.0, ratio=1.0).above_goal
    assert Row("p", "n", (1, 1), goal_us=2, ours=3.0).above_goal
    assert not Row("p", "n", (1, 1), ours=3.0).above_goal


@pytest.mark.parametrize(("load", "busy"), [(64.0, True), (0.0, False)])
def test_the_table_says_which_goal_and_whether_the_machine_is_busy(
    load: float, busy: bool, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    rows = [
        Row("p", "slow", (1, 1), goal=1.5, ours=3.0, by_hand=1.0, ratio=3.0),
        Row("p", "late", (1, 1), goal_us=2, ours=3.0),
        Row("p", "well", (1, 1), goal=4, ours=3.0, by_hand=1.0, ratio=3.0),
    ]
    bench._print(rows)
    out = capsys.readouterr().out
    lines = {line.split()[0]: line for line in out.splitlines() if line and "," not in line}
    assert lines["slow"].endswith("* 1.50 times")
    assert lines["late"].endswith("* 2 us")
    assert "*" not in lines["well"]
    assert ("(load 64.0 on 2 cores)" in out) is busy
    fields = {"plugin": "p", "name": "n", "size": [1, 2], "spread": [1.0, 2.0]}
    assert row_of(fields).size == (1, 2)


def test_a_benchmark_is_data() -> None:
    benchmark = Benchmark(name="a", what="b", make="c:d")
    with pytest.raises(AttributeError):
        benchmark.name = "other"  # type: ignore[misc]  # that is what must fail


def test_the_profile_is_of_both_ways(capsys: Capture) -> None:
    assert main(["bench", "--profile", "identity map()"]) == 0
    out = capsys.readouterr().out
    assert "samebytes: " in out
    assert "by hand: " in out
    assert out.count("tottime") == 2


def test_the_costliest_functions_for_one_call() -> None:
    def inner() -> list[int]:
        return sorted(range(2000))

    def twice() -> None:
        inner()
        inner()

    found = profiled(Ways(ours=twice, by_hand=inner))
    first, second = costliest(found["ours"], 2)
    assert first["where"] == "<built-in method builtins.sorted>"
    assert second["where"].startswith("test_benchmarks.py:")
    assert first["calls"] == 2.0
    assert first["us"] >= second["us"]
    assert costliest(found["by_hand"])[0]["calls"] == 1.0
    assert profiled(Ways(ours=lambda: 1.0, timed=True)) == {}
