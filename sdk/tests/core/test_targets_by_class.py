# SPDX-License-Identifier: Apache-2.0
"""A class of contexts as a target: the same as its name, and as fast."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import HostContext


def test_it_is_the_name() -> None:
    assert sb.context(sb.CpuContext) is sb.context("cpu")
    assert sb.context("cpu").derive(sb.CpuContext) is sb.context("cpu")
    tensor = sb.tensor(np.zeros((4, 4), np.uint8))
    mapped = tensor.map(sb.CpuContext, "rw")
    mapped.native[1, 1] = 7
    assert np.asarray(tensor)[1, 1] == 7
    frame = sb.frame([np.zeros((4, 4), np.uint8)], format="GRAY8")
    assert frame.map(sb.CpuContext).context is sb.context("cpu")
    assert sb.route(sb.CpuContext, sb.CpuContext).hops == ()


def test_it_is_found_in_the_table_from_the_second_time_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tensor = sb.tensor(np.zeros(4))
    tensor.map(sb.CpuContext)

    def compile_route(*_: Any) -> Any:
        raise AssertionError("looked up again")

    monkeypatch.setattr(sb.Context.router, "compile_route", compile_route, raising=False)
    tensor.map(sb.CpuContext)


def test_parameters_do_nothing_at_run_time() -> None:
    class Parametrized(HostContext["Nothing"]):  # type: ignore[name-defined]
        memory_type = node = "cpu"

    assert Parametrized.__mro__[1:3] == (HostContext, sb.Context)
    assert isinstance(sb.context("cpu").allocate_frame("NV12", 8, 4), sb.Frame)


@pytest.mark.parametrize("bad", [sb.Context, HostContext, sb.Tensor, int, np.ndarray])
def test_classes_that_are_not_targets(bad: Any) -> None:
    tensor = sb.tensor(np.zeros(4))
    for ask in (
        lambda: tensor.map(bad),
        lambda: sb.context(bad),
        lambda: sb.route("cpu", bad),
        lambda: sb.context("cpu").derive(bad),
    ):
        with pytest.raises(UnsupportedObjectError):
            ask()


def test_a_class_of_a_node_that_makes_others() -> None:
    class Other(HostContext):
        memory_type = node = "cpu"

    with pytest.raises(UnsupportedObjectError, match="made as CpuContext, not Other"):
        sb.context(Other)
