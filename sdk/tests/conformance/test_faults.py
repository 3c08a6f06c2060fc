# SPDX-License-Identifier: Apache-2.0
"""The suites notice what they are there to notice: a toy backend, with one fault at a time."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

TOY = Path(__file__).parent / "toy"

# The fault, and the tests that must fail.
FAULTS = {
    "none": set[str](),
    "a silent copy": {"test_same_bytes", "test_writes_to_the_source_show_in_the_mapping",
                      "test_writes_to_the_mapping_show_in_the_source", "test_any_layout"},
    "memory that is not kept": {"test_drop_orders"},
    "read-only memory made writable": {"test_access"},
    "a leak": {"test_nothing_stays"},
    "a cycle": {"test_drop_orders"},
    "a wrong layout": {"test_same_bytes"},
    "an error at exit": {"test_exit_with_living_mappings"},
    "a heavy declaration": {"test_declaring_is_light"},
    "a misspelt type": {"test_native_types_are_spelled_as_they_spell_themselves"},
    "a wrong declaration": {"test_the_route_says_what_happens"},
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault: str, site: Any) -> None:
    shutil.copytree(TOY, site.path, dirs_exist_ok=True)
    site.distribution("toy", "[samebytes.plugins]\ntoy = toy_plugin\n")
    suites = str(site.path / "toy_suites.py")
    options = ["-p", "no:cacheprovider", "-q", "--tb=no", "-rfE", "-W", "ignore", "-c", "/dev/null"]
    # Only the tests that must fail, save for the toy without a fault, which passes all of them.
    options += ["-k", " or ".join(FAULTS[fault])]
    done = site.python("-m", "pytest", *options, suites, TOY_FAULT=fault)
    failed = re.findall(r"^(?:FAILED|ERROR) .*?::\w+::(\w+)", done.stdout, re.MULTILINE)
    assert done.returncode == (0 if fault == "none" else 1), done.stdout
    assert set(failed) >= FAULTS[fault], done.stdout
