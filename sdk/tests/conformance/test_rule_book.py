# SPDX-License-Identifier: Apache-2.0
"""The rule book as such: numbered, complete, without pytest, and used by both callers."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest

import samebytes
from samebytes import Frame
from samebytes.testing.rules import CHAPTERS, BrokenRule, NotChecked, all_rules
from samebytes.testing.rules.book import rule
from samebytes.testing.rules.planes import planes_keep_their_places
from samebytes.testing.rules.sight import SAMEBYTES
from samebytes.testing.rules.subjects import Array

# What check-plugin does while pytest and hypothesis are not installed.
WITHOUT_PYTEST = """
import sys
sys.modules.update(dict.fromkeys(("pytest", "hypothesis")))
from samebytes.testing.rules import all_rules
import samebytes._authors.check.installed, samebytes._authors.check.declaration
print(len(all_rules()))
"""


def test_it_needs_no_pytest() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYTEST], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(all_rules())


def test_the_suites_say_that_they_need_pytest() -> None:
    code = 'import sys; sys.modules["pytest"] = None; from samebytes.testing import Memory'
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "samebytes[testing]"' in done.stderr


def test_numbers_and_sentences_are_taken_once() -> None:
    rules = all_rules()
    for of in ("number", "name", "sentence"):
        assert len({getattr(r, of) for r in rules}) == len(rules)
    for each in rules:
        chapter, _, part = each.number.partition(".")
        assert int(chapter) in CHAPTERS
        assert part.isdecimal()
        assert each.meaning
        assert each.advice


def test_the_parts_of_a_chapter_are_counted_from_one() -> None:
    for chapter in CHAPTERS:
        numbers = [r.number.split(".") for r in all_rules()]
        parts = [part for of, part in numbers if of == str(chapter)]
        assert parts == [str(n + 1) for n in range(len(parts))]


@rule("1.99", "nothing is broken", means="it breaks", do="fix it")
def sample(seen: str | None, error: Exception | None = None) -> str | None:
    if error is not None:
        raise error
    return seen


def test_a_rule_that_holds() -> None:
    assert sample("two of them") == "two of them"
    assert sample(None) == ""
    assert sample.name == "sample"


def test_a_broken_rule_says_which_and_what_it_means() -> None:
    with pytest.raises(BrokenRule) as caught:
        sample(None, BrokenRule("a crack"))
    assert caught.value.seen == "a crack"
    assert caught.value.rule is sample
    assert str(caught.value).splitlines() == [
        "rule 1.99, nothing is broken",
        "  seen: a crack",
        "  which means: it breaks",
        "  to do: fix it",
    ]


def test_what_was_not_checked_is_not_a_finding() -> None:
    with pytest.raises(NotChecked, match="no device"):
        sample(None, NotChecked("no device"))


@pytest.mark.parametrize("swapped", [False, True])
def test_planes_keep_their_places_in_whatever_shapes(swapped: bool) -> None:
    """A target may see a plane as [1, rows, columns, 1]: only the bytes count."""

    def read(frame: Frame) -> list[Array]:
        y, u, v = (array[np.newaxis, :, :, np.newaxis] for array in SAMEBYTES.read(frame))
        return [y, v, u] if swapped else [y, u, v]

    with pytest.raises(BrokenRule, match="plane 1 of I420") if swapped else nullcontext():
        seen = planes_keep_their_places(
            lambda name: samebytes.context("cpu").allocate_frame(name, 8, 8),
            lambda frame: frame.map("cpu"),
            lambda frame: SAMEBYTES.write(frame, 3),
            read,
        )
        assert "I420" in seen
