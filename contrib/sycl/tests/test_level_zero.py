# SPDX-License-Identifier: Apache-2.0
"""sycl <-> level_zero with contexts that say they share a ze_context.

SYCL runs on Level Zero with Intel's GPUs alone, so the handles are made up here: these tests show
what the edges ask and hand over, not that a GPU takes it.
"""

from __future__ import annotations

import numpy as np
import pytest

import samebytes
from samebytes import Context
from samebytes.errors import RouteError
from samebytes.testing import missing_device
from samebytes_sycl import SYCLContext

pytest.importorskip(
    "samebytes_npu_level_zero",
    reason="missing package samebytes_npu_level_zero: pip install samebytes-npu-level-zero",
)


@pytest.fixture
def level_zero() -> Context:
    try:
        return samebytes.context("level_zero")
    except samebytes.errors.MissingDependencyError:
        pytest.skip(missing_device("NPU"))


def test_without_a_ze_context_it_is_refused(context: SYCLContext, level_zero: Context) -> None:
    route = samebytes.route("sycl", "level_zero")
    assert route.hops[0].spec.name == "sycl -> level_zero"
    tensor = context.allocate((16,))
    match = r"no ze_context, which SYCL's devices of level_zero have: .*sycl:level_zero:gpu"
    with pytest.raises(RouteError, match=match):
        samebytes.route(tensor, level_zero).map(tensor)
    source = level_zero.allocate((16,))
    with pytest.raises(RouteError, match=match):
        samebytes.route(source, context).map(source)


def test_another_ze_context_is_refused(
    context: SYCLContext, level_zero: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(context._handles, "ze_context", level_zero.handle("ze_context") + 8)
    tensor = context.allocate((16,))
    with pytest.raises(RouteError, match="valid only in its own"):
        samebytes.route(tensor, level_zero).map(tensor)


def test_a_pointer_that_the_other_does_not_know_is_refused(
    context: SYCLContext, level_zero: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(context._handles, "ze_context", level_zero.handle("ze_context"))
    tensor = context.allocate((16,))
    with pytest.raises(RouteError, match="not a USM pointer of this context"):
        samebytes.route(tensor, level_zero).map(tensor)
    source = level_zero.allocate((16,))
    with pytest.raises(RouteError, match="SYCL does not know"):
        samebytes.route(source, context).map(source)


def test_the_same_pointer_goes_over(
    context: SYCLContext, level_zero: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(context._handles, "ze_context", level_zero.handle("ze_context"))
    monkeypatch.setattr(
        "samebytes_sycl._level_zero_edges.kind_of_pointer", lambda queue, pointer: "host"
    )
    source = level_zero.allocate((4, 8), "float32")
    mapped = source.map(context, "rw")
    assert mapped.handle("usm_ptr") == source.handle("usm_ptr")
    np.asarray(mapped)[0, 0] = 3
    assert np.asarray(source)[0, 0] == 3
    known = mapped.map(level_zero)
    assert known.handle("usm_ptr") == source.handle("usm_ptr")
