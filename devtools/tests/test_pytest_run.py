# SPDX-License-Identifier: Apache-2.0
"""The options of a run of pytest."""

import hypothesis
import pytest

from devtools import pytest_run
from devtools.pytest_run import on
from devtools.workspace import SOFTDEVICES


def test_software_devices_are_used_where_they_are_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left_out: dict[str, str] = {}
    monkeypatch.setattr(pytest_run, "why_left_out", left_out.get)
    assert on(("gpu", "npu"), strict=True) == ["--softdevices=gpu,npu"]
    assert on(("gpu", "npu"), strict=False)[1:] == ["--softdevices-optional"]
    assert on((), strict=True) == []
    # Without their pytest plugin the option would be an error.
    left_out[SOFTDEVICES.name] = "no compiler"
    assert on(("gpu", "npu"), strict=True) == []


def test_no_example_of_hypothesis_is_timed() -> None:
    assert hypothesis.settings().deadline is None
