# SPDX-License-Identifier: Apache-2.0
"""The rule book as such: numbered, complete, without pytest, and used by both callers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from samebytes.testing.rules import CHAPTERS, BrokenRule, NotChecked, all_rules
from samebytes.testing.rules.book import rule

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
