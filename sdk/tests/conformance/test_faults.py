# SPDX-License-Identifier: Apache-2.0
"""The suites notice what they are there to notice: a toy backend, with one fault at a time.

With a fault, the tests named here fail and no other one does, of those that are quick.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from .trying_faults import Outcomes, trying

pytestmark = pytest.mark.together

# Not run for a fault that they are not meant to notice.
SLOW = {
    "test_any_layout", "test_declaring_is_light", "test_drop_orders", "test_ends_with",
    "test_exit_with", "test_fork", "test_lifetimes", "test_nothing_stays", "test_threads",
}  # fmt: skip
# Only the toy without a fault passes all suites; the others run in one of these.
TOY_SUITES = ("TestPlugin", "TestContext", "TestTensor", "TestCpuToToy")
CHIP_SUITES = ("TestChipContext", "TestChip", "TestCpuToChip")

# The fault, and the tests that must fail.
FAULTS = {
    "none": set[str](),
    "a silent copy": {
        "test_same_bytes", "test_writes_to_the_source_show_in_the_mapping",
        "test_writes_to_the_mapping_show_in_the_source", "test_any_layout",
        "test_declared_layouts", "test_closing_owned_memory", "test_mixed_access",
        "test_the_end_of_a_block",
    },
    "memory that is not kept": {
        "test_drop_orders", "test_lifetimes", "test_closing_owned_memory",
        "test_the_mapping_outlives_the_source",
    },
    "read-only memory made writable": {"test_access"},
    "a leak": {
        "test_nothing_stays", "test_nothing_stays_of_sources", "test_ends_in_any_thread",
        "test_closing_owned_memory",
    },
    "a cycle": {
        "test_drop_orders", "test_lifetimes", "test_ends_in_any_thread",
        "test_closing_owned_memory", "test_nothing_stays_of_sources",
    },
    "a wrong layout": {
        "test_same_bytes", "test_writes_to_the_source_show_in_the_mapping",
        "test_writes_to_the_mapping_show_in_the_source", "test_declared_layouts", "test_queue",
        "test_every_dtype", "test_the_end_of_a_block", "test_regions_map",
        "test_the_mapping_outlives_the_source", "test_two_mappings_close_in_any_order",
        "test_closing_owned_memory",
    },
    "rows that overlap": {"test_allocating_frames"},
    "planes that overlap": {"test_allocating_frames"},
    "a region read from the start": {"test_regions"},
    "uint8 for bool": {"test_every_dtype"},
    "float16 for bfloat16": {"test_every_dtype"},
    "foreign byte order": {"test_every_dtype"},
    "an error at exit": {"test_exit_with_living_mappings"},
    "a heavy declaration": {"test_declaring_is_light"},
    "a misspelt type": {"test_native_types_are_spelled_as_they_spell_themselves"},
    "a wrong declaration": {"test_the_route_says_what_happens"},
    "readonly_enforced declared wrong": {"test_access"},
    "host_visible declared wrong": {"test_no_arrays_of_invisible_memory"},
    "opaque declared wrong": {"test_info"},
    "allocates declared wrong": {
        "test_allocating", "test_busy", "test_close_while_another_thread_drops",
        "test_what_is_held_lives_on", "test_an_array_keeps_its_memory",
        "test_the_end_of_a_block",
    },
    "singleton declared wrong": {"test_one_for_the_same_handles"},
    "accesses declared wrong": {"test_accesses_that_are_not_served"},
    "mixed_access declared wrong": {"test_mixed_access"},
    "transfer declared wrong": {"test_the_route_says_what_happens"},
    "a native's layout declared wrong": {"test_declared_layouts"},
    "a mapping's layout declared wrong": {"test_declared_layouts"},
    "a served layout declared wrong": {"test_declared_layouts"},
}  # fmt: skip
CHIP_FAULTS = {
    "a release that fires twice": {"test_nothing_is_left", "test_ends_with_its_last_holder"},
    "a release in a forked child": {"test_fork", "test_exit_with_living_mappings"},
    "a slot of a pool that is taken again": {
        "test_an_array_keeps_its_memory",
        "test_busy",
        "test_nothing_is_left",
        "test_allocating",
        "test_what_is_held_lives_on",
    },
    "a slot of a pool that is given back at once": {"test_allocating"},
    "a context leak": {"test_nothing_is_left", "test_ends_with_its_last_holder"},
    "dtypes declared wrong": {"test_dtypes", "test_every_dtype"},
}
FRAME_FAULTS = {"swapped planes": {"test_planes_keep_their_places"}}
# Of a mapping whose planes lie in memory of their own; the first is none.
PLANE_FAULTS = {
    "planes apart": set[str](),
    "a flush of the first plane alone": {
        "test_each_plane_is_published",
        "test_writes_to_the_mapping_show_in_the_source",
        "test_the_end_of_a_block",
    },
    "a plane that ends with other mappings": {"test_two_mappings_close_in_any_order"},
    "a plane that is not kept": {
        "test_a_plane_keeps_its_memory",
        "test_the_mapping_outlives_the_source",
        "test_the_end_of_a_block",
    },
}
# Of declarations, and what the one test that fails says of it.
DECLARATIONS = {
    "a class that is not there": "has no attribute 'ToyTensors'",
    "a hook that raises": "unexpected keyword argument",
    "a misspelt type": "native type 'toy_framework.buffer'",
}
MISTAKE = "a mistake in each mapping"
# With these nothing works: what must notice them is run alone.
FATAL = ("a misspelt type", "a wrong declaration")
ALL_FAULTS = {**FAULTS, **CHIP_FAULTS, **FRAME_FAULTS, **PLANE_FAULTS}


def selection(fault: str) -> str:
    """pytest's expression: the tests that must fail, and the quick ones."""
    if fault == "none":
        return "not TestPlanes"
    suites: tuple[str, ...] = CHIP_SUITES if fault in CHIP_FAULTS else TOY_SUITES
    if fault in FRAME_FAULTS:
        suites = ("TestFrames",)
    if fault in PLANE_FAULTS:
        suites = ("TestPlanes",)
    tests = " or ".join(sorted(ALL_FAULTS[fault])) or "test_same_bytes"
    if fault in FATAL:
        return tests
    return f"({' or '.join(suites)}) and ({tests} or not ({' or '.join(sorted(SLOW))}))"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    selections = {fault: selection(fault) for fault in ALL_FAULTS}
    with trying("toy", selections, tmp_path_factory.mktemp("toy")) as tried:
        yield tried


@pytest.mark.parametrize("fault", ALL_FAULTS)
def test_a_fault_is_noticed(fault: str, outcomes: Outcomes) -> None:
    outcome = outcomes.of(fault)
    assert outcome.status == (1 if ALL_FAULTS[fault] else 0), outcome.output
    assert outcome.failed == ALL_FAULTS[fault], outcome.output
    assert "NameError: name" not in outcome.output, "the toy has a fault of its own"


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    suites = "TestContext or TestTensor or TestCpuToToy"
    selections = {**dict.fromkeys(DECLARATIONS, suites), MISTAKE: "TestCpuToToy"}
    with trying("toy", selections, tmp_path_factory.mktemp("toy")) as tried:
        yield tried


@pytest.mark.parametrize("fault", DECLARATIONS)
def test_a_broken_declaration_fails_once(fault: str, declared: Outcomes) -> None:
    outcome = declared.of(fault)
    assert outcome.status == 1, outcome.output
    assert len(outcome.failed) == 1, outcome.output
    assert DECLARATIONS[fault] in outcome.output
    # The rest did not run.
    assert " passed" not in outcome.output, outcome.output
    skipped = re.search(r"(\d+) skipped", outcome.output)
    assert skipped is not None, outcome.output
    assert int(skipped[1]) > 40, outcome.output


def test_a_mistake_in_each_mapping_fails_once(declared: Outcomes) -> None:
    outcome = declared.of(MISTAKE)
    assert outcome.status == 1, outcome.output
    assert len(outcome.failed) == 1, outcome.output
    assert "NameError: name 'Bufer' is not defined" in outcome.output
    assert " passed" not in outcome.output, outcome.output
    skipped = re.search(r"(\d+) skipped", outcome.output)
    assert skipped is not None, outcome.output
    assert int(skipped[1]) > 20, outcome.output
