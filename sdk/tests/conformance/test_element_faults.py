# SPDX-License-Identifier: Apache-2.0
"""ElementSuite notices what it is there to notice: toy elements, with one fault at a time.

With a fault, the tests named here fail and no other one does, of the suite that is named.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOY = Path(__file__).parent / "toy"

# The fault, the suite that is run, and the tests that must fail.
FAULTS: dict[str, tuple[str, set[str]]] = {
    "none": ("not TestMissing", set()),
    "an element that is not there": ("TestMissing", {"test_created_by_name"}),
    "no summary": ("TestAdd", {"test_created_by_name"}),
    "a parameter without description": ("TestAdd", {"test_parameters_are_described"}),
    "parameters that are not checked": ("TestAdd", {"test_wrong_parameters_are_refused"}),
    "a format that fails": ("TestAdd", {"test_formats"}),
    "state that threads share": ("TestMean", {"test_threads"}),
    "a frame that is held": ("TestMean", {"test_stopped_in_the_middle"}),
    "a list that grows": ("TestMean", {"test_thousands_of_frames"}),
    "writes to what it reads": ("TestMean", {"test_what_it_only_reads"}),
    "a new frame": ("TestMean", {"test_frames_go_on_in_place"}),
    "another size than announced": ("TestHalf", {
        "test_threads", "test_started_again", "test_closing", "test_nothing_is_copied",
        "test_formats", "test_stopped_in_the_middle", "test_thousands_of_frames",
        "test_what_it_only_reads", "test_streams_are_kept_apart", "test_kept_frames_are_counted",
    }),
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
    "another format than announced": ("TestCount", {
        "test_gives_what_was_agreed_on", "test_frames_that_are_held",
        "test_threads", "test_started_again", "test_closing", "test_nothing_is_copied",
        "test_stopped_in_the_middle", "test_thousands_of_frames", "test_ends",
    }),
}  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """By fault: pytest's status and output."""
    folder = tmp_path_factory.mktemp("bits")
    shutil.copytree(TOY, folder, dirs_exist_ok=True)
    metadata = folder / "bits-1.5.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: bits\nVersion: 1.5\n")
    (metadata / "entry_points.txt").write_text("[samebytes.plugins]\nbits = bits_plugin\n")
    selected = {fault: suite for fault, (suite, _) in FAULTS.items()}
    done = subprocess.run(
        [sys.executable, str(folder / "run_faults.py"), "bits_suites.py", json.dumps(selected)],
        env={**os.environ, "PYTHONPATH": str(folder), "SAMEBYTES_PLUGINS": "bits"},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, tuple[int, str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault: str, results: dict[str, tuple[int, str]]) -> None:
    status, output = results[fault]
    _, expected = FAULTS[fault]
    failed = re.findall(r"^(?:FAILED|ERROR) .*?::\w+::(\w+)", output, re.MULTILINE)
    assert status == (1 if expected else 0), output
    assert set(failed) == expected, output
    assert "skipped" not in output
