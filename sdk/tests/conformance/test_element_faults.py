# SPDX-License-Identifier: Apache-2.0
"""The kit for elements notices what it is there to notice: toy elements, with one fault at a time.

With a fault, the tests named here fail and no other one does, of the suite that is named. Where
the element cannot be run at all, the first test fails, and all the others are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from .trying_faults import Outcomes, trying

pytestmark = pytest.mark.together

# The fault, the suite that is run, and the tests that must fail.
FAULTS: dict[str, tuple[str, set[str]]] = {
    "none": ("not TestMissing", set()),
    "an element that is not there": ("TestMissing", {"test_created_by_name"}),
    "no summary": ("TestAdd", {"test_created_by_name"}),
    "a parameter without description": ("TestAdd", {"test_parameters_are_described"}),
    "parameters that are not checked": ("TestAdd", {"test_wrong_parameters_are_refused"}),
    "a format that fails": ("TestAdd", {"test_formats"}),
    # It sleeps in each frame.
    "state that threads share": ("TestMean and not thousands", {"test_threads"}),
    "a frame that is held": ("TestMean", {"test_stopped_in_the_middle"}),
    "a list that grows": ("TestMean", {"test_thousands_of_frames"}),
    "a cycle for each frame": ("TestMean", {"test_thousands_of_frames"}),
    "writes to what it reads": ("TestMean", {"test_what_it_only_reads"}),
    "a new frame": ("TestMean", {"test_frames_go_on_in_place"}),
    "a close that needs an open": ("TestHalf", {"test_closing", "test_started_again"}),
    "a file that stays open": ("TestKeep", {"test_stopped_in_the_middle"}),
    "kept frames that are not counted": ("TestDelay", {"test_kept_frames_are_counted"}),
    "state that streams share": ("TestMean", {"test_streams_are_kept_apart"}),
    "one format whatever is wanted": ("TestCount", {"test_gives_what_was_agreed_on"}),
    "a pool that it does not announce": ("TestCount", {"test_frames_that_are_held"}),
    "memory that is used again while it is held": ("TestCount", {
        "test_threads",
        "test_frames_that_are_held",
    }),
    "a source that goes on where it was": ("TestCount", {"test_started_again"}),
    "a source without end": ("TestCount", {"test_ends"}),
    "a thread that is left": ("TestCount", {
        "test_stopped_in_the_middle", "test_thousands_of_frames",
    }),
}  # fmt: skip
# The suite in which nothing works, and the cause that is shown, with the element's line where
# that raised it.
BROKEN = {
    "a module that raises": ("TestHalf or TestKeep", "ImportError: no toy there"),
    "a constructor that raises": ("TestAdd", "ValueError: no adder there"),
    "a negotiate that raises": ("TestHalf", "ArithmeticError: no half there"),
    "an open that raises": ("TestCount", "RuntimeError: no camera there"),
    "a read that raises": ("TestCount", "OSError: no frame there"),
    "a process that raises": ("TestMean", "KeyError: 'no mean there'"),
    "a write that raises": ("TestKeep", "OSError: no room there"),
    "an end that raises": ("TestKeep", "OSError: no end there"),
    "a close that raises": ("TestKeep", "OSError: no file there"),
    "a result of another type": ("TestMean", "element 'bits.mean': it gave 'int', not a frame"),
    "a result that is forgotten": ("TestMean", "bits.mean: nothing came out"),
    "another size than announced": ("TestHalf", "announced image GRAY8 64x24"),
    "another format than announced": ("TestCount", "gives image BGR"),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    selections = {fault: suite for fault, (suite, _) in (FAULTS | BROKEN).items()}
    folder = tmp_path_factory.mktemp("bits")
    with trying("bits", selections, folder, SAMEBYTES_PLUGINS="bits") as tried:
        yield tried


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault: str, outcomes: Outcomes) -> None:
    outcome = outcomes.of(fault)
    _, expected = FAULTS[fault]
    assert outcome.status == (1 if expected else 0), outcome.output
    assert outcome.failed == expected, outcome.output
    assert "NameError: name" not in outcome.output, "the toy has a fault of its own"
    assert "SKIPPED" not in outcome.output


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_element_fails_once(fault: str, outcomes: Outcomes) -> None:
    outcome = outcomes.of(fault)
    _, cause = BROKEN[fault]
    assert outcome.status == 1, outcome.output
    assert " skipped, " in outcome.output
    assert ", 1 error in " in outcome.output
    assert "passed" not in outcome.output
    (first,) = outcome.failed
    reason = rf"no pipeline with the element runs: see \S+::{first}$"
    assert re.search(rf"^SKIPPED .*: {reason}", outcome.output, re.MULTILINE), outcome.output
    assert re.search(rf"^E .*{re.escape(cause)}", outcome.output, re.MULTILINE), outcome.output
    raised = fault.endswith("that raises")
    assert (re.search(r"bits_elements\.py:\d+: in ", outcome.output) is not None) is raised
