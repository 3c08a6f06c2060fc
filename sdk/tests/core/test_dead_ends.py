# SPDX-License-Identifier: Apache-2.0
"""Routes that are not tried, and errors that ask for no copy, where neither would help."""

from __future__ import annotations

import numpy as np
import pytest

import samebytes as sb
from samebytes import Transfer
from samebytes.errors import CopyRequiredError, NoRouteError
from samebytes.plugins import MapperSpec

from .made_up import (
    ALPHA,
    BETA,
    Alias,
    AlphaTensor,
    Beta,
    Copy,
    OnlyEven,
    OtherQueue,
    OutOfReach,
    OwnQueue,
    QueueAndRefuse,
    QueueByTheWay,
    RefusesAll,
    edge,
    install,
)


def through_alpha(first: type[Alias]) -> list[MapperSpec]:
    return [edge("cpu", "beta", first), edge("cpu", "alpha", Alias), edge("alpha", "beta", Alias)]


def test_memory_out_of_reach_is_not_brought_there_by_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tensor = sb.tensor(np.zeros((4, 2)))
    install(monkeypatch, *through_alpha(OutOfReach))
    for look in (lambda: tensor.map("beta"), lambda: sb.route(tensor, "beta")):
        with pytest.raises(NoRouteError, match="the CPU is kept out") as caught:
            look()
        assert "alpha" not in str(caught.value)


def test_a_copy_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = sb.tensor(np.ones((4, 2)))
    install(
        monkeypatch,
        *through_alpha(OutOfReach),
        edge("cpu", "alpha", Copy, transfer=Transfer.COPY),
    )
    with pytest.raises(CopyRequiredError):
        tensor.map("beta")
    assert (tensor.map("beta", copy=True).native == 1).all()


def test_no_copy_is_asked_for_that_the_way_to_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("cpu", "alpha", OnlyEven),
        edge("alpha", "beta", Copy, transfer=Transfer.COPY),
    )
    with pytest.raises(CopyRequiredError):
        sb.tensor(np.zeros((4, 2))).map("beta")
    with pytest.raises(NoRouteError):
        sb.tensor(np.zeros((3, 2))).map("beta")


def test_no_copy_is_asked_for_that_is_refused_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("alpha", "cpu", Copy, transfer=Transfer.COPY),
        edge("cpu", "beta", OnlyEven),
    )
    with pytest.raises(CopyRequiredError):
        AlphaTensor.borrowed(np.zeros((4, 2)), ALPHA).map("beta")
    with pytest.raises(NoRouteError, match="the number of rows is odd"):
        AlphaTensor.borrowed(np.zeros((3, 2)), ALPHA).map("beta")


def test_what_a_context_rules_out_needs_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("cpu", "beta", OnlyEven),
        edge("cpu", "beta", Copy, transfer=Transfer.COPY),
    )
    frame = sb.frame(np.zeros((3, 2), np.uint8), format="GRAY8")
    with pytest.raises(CopyRequiredError):
        frame.map("beta")
    monkeypatch.setattr(Beta, "rules_out", lambda _, info: f"no {info.format} here")
    with pytest.raises(NoRouteError, match="no GRAY8 here") as caught:
        frame.map("beta")
    assert "odd" not in str(caught.value)
    assert BETA.rules_out(frame.meta.info) == "no GRAY8 here"


def test_what_a_context_on_the_way_rules_out_needs_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("cpu", "beta", Copy, transfer=Transfer.COPY),
        edge("beta", "alpha", Alias),
    )
    frame = sb.frame(np.zeros((4, 2), np.uint8), format="GRAY8")
    with pytest.raises(CopyRequiredError):
        frame.map("alpha")
    monkeypatch.setattr(Beta, "rules_out", lambda _, info: f"no {info.format} here")
    with pytest.raises(NoRouteError):
        frame.map("alpha")


def test_a_queue_is_not_for_the_frameworks_between(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("cpu", "alpha", OtherQueue),
        edge("alpha", "beta", Alias),
        edge("cpu", "beta", OwnQueue, cost=50.0),
    )
    tensor = sb.tensor(np.zeros((4, 2)))
    assert [c.node for c in sb.route(tensor, "beta").contexts] == ["cpu", "alpha", "beta"]
    assert tensor.map("beta", queue=object()).shape == (4, 2)


AROUND = [edge("cpu", "beta", Alias, cost=50.0)]


@pytest.mark.parametrize(
    "refusing",
    [
        [edge("cpu", "beta", QueueAndRefuse)],
        [edge("cpu", "beta", RefusesAll), edge("cpu", "beta", QueueAndRefuse, cost=20.0)],
        [edge("cpu", "alpha", OwnQueue), edge("alpha", "beta", RefusesAll)],
    ],
    ids=["the first", "one of the others", "behind the one that took it"],
)
def test_a_queue_that_a_route_took_which_then_refused_is_not_used(
    monkeypatch: pytest.MonkeyPatch, refusing: list[MapperSpec]
) -> None:
    install(monkeypatch, *refusing, *AROUND)
    pixels = np.zeros((4, 2), np.uint8)
    for item in (sb.tensor(pixels), sb.frame(pixels, format="GRAY8")):
        for _ in range(2):
            with pytest.raises(NoRouteError, match="no edge of this route uses a queue"):
                item.map("beta", queue=object())
        assert item.map("beta").context is BETA
    install(monkeypatch, *refusing, edge("cpu", "beta", OwnQueue, cost=50.0))
    assert sb.tensor(pixels).map("beta", queue=object()).context is BETA


def test_what_an_edge_maps_by_the_way_takes_no_queue_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_the_way = [edge("cpu", "alpha", QueueAndRefuse), edge("cpu", "alpha", Alias, cost=50.0)]
    install(monkeypatch, edge("cpu", "beta", QueueByTheWay), *by_the_way)
    assert sb.tensor(np.zeros((4, 2))).map("beta", queue=object()).context is BETA
