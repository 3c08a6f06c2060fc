# SPDX-License-Identifier: Apache-2.0
"""The text of a refused mapping: every reason, once, and none of an edge that leads elsewhere."""

from __future__ import annotations

import gc
import traceback
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

import samebytes as sb
from samebytes import Transfer
from samebytes.errors import AccessError, CopyRequiredError, NoRouteError, UnknownNameError

from .conftest import Pages
from .made_up import (
    ALPHA,
    Alias,
    Copy,
    Discarding,
    EvenWrittenBack,
    OnlyEven,
    Raises,
    RefusesAll,
    WrittenBack,
    edge,
    install,
)

pytestmark = pytest.mark.usefixtures("made_up")


def test_no_route_carries_every_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("cpu", "beta", OnlyEven),
        edge("cpu", "alpha", Alias),
        edge("alpha", "beta", RefusesAll),
        edge("alpha", "beta", Alias, access=("w",), cost=3.0),
    )
    with pytest.raises(NoRouteError) as caught:
        sb.tensor(np.zeros((3, 2))).map("beta")
    text = str(caught.value)
    for reason in (
        "the number of rows is odd",
        "it never takes anything",
        'it serves access w, not "r"',
    ):
        assert reason in text
    assert (caught.value.source, caught.value.target) == ("cpu", "beta")


@pytest.mark.parametrize("again", [False, True])
def test_a_refusal_is_shown_alone(monkeypatch: pytest.MonkeyPatch, again: bool) -> None:
    """The search for the reasons is of no use to whoever reads the traceback."""
    install(
        monkeypatch,
        edge("cpu", "alpha", Alias),
        edge("alpha", "beta", RefusesAll),
        edge("alpha", "beta", Copy),
    )
    tensor = sb.tensor(np.zeros((3, 2)))
    if again:  # when the route has been compiled
        with pytest.raises(CopyRequiredError):
            tensor.map("beta")
    with pytest.raises(CopyRequiredError, match="never takes anything") as caught:
        tensor.map("beta")
    shown = "".join(traceback.format_exception(caught.value))
    assert "Traceback" in shown
    assert shown.count("Traceback") == 1


@pytest.mark.parametrize("copy", [False, True])
def test_asking_for_a_route_keeps_nothing_alive(
    monkeypatch: pytest.MonkeyPatch, pages: Pages, copy: bool
) -> None:
    """A refused way, as far as it led, is forgotten at once, without the garbage collector."""
    install(
        monkeypatch,
        edge("cpu", "alpha", Alias),
        edge("alpha", "beta", RefusesAll),
        edge("cpu", "beta", Copy, cost=9.0),
    )
    tensor = pages.tensor()
    gc.collect()
    gc.disable()
    try:
        if copy:
            assert "never takes anything" in sb.route(tensor, "beta", copy=True).explain()
        else:
            with suppress(CopyRequiredError):
                sb.route(tensor, "beta")
        del tensor
        assert pages.released == 1
    finally:
        gc.enable()


def test_a_refused_mapping_writes_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has written to the mappings that were made before an edge refused."""
    to_alpha = edge("cpu", "alpha", WrittenBack, transfer=Transfer.COPY)
    tensor = sb.tensor(np.ones((3, 2)))
    for last, error in ((RefusesAll, NoRouteError), (Raises, ZeroDivisionError)):
        install(monkeypatch, to_alpha, edge("alpha", "beta", last))
        with pytest.raises(error):
            tensor.map("beta", "w", copy=True)
        assert (tensor.native == 1).all()
    twice = edge("alpha", "beta", WrittenBack, transfer=Transfer.COPY)
    install(monkeypatch, to_alpha, twice, edge("beta", "gpu", RefusesAll))
    with pytest.raises(NoRouteError):
        tensor.map("gpu:0", "w", copy=True)
    assert (tensor.native == 1).all()
    install(monkeypatch, to_alpha, twice)
    tensor.map("beta", "w", copy=True).close()
    assert not tensor.native.any()


def test_a_plane_that_is_refused_writes_no_other_back(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "alpha", EvenWrittenBack, transfer=Transfer.COPY))
    planes = np.ones((6, 8), np.uint8), np.ones((3, 4, 2), np.uint8)
    with pytest.raises(NoRouteError, match="odd"):
        sb.frame(planes, format="NV12").map("alpha", "w", copy=True)
    assert all((plane == 1).all() for plane in planes)


def test_asking_for_a_route_leaves_the_contents(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = sb.tensor(np.ones((4, 2)))
    install(monkeypatch, edge("cpu", "alpha", Discarding), edge("alpha", "beta", OnlyEven))
    sb.route(tensor, "beta", access="w")
    assert (tensor.native == 1).all()
    tensor.map("beta", "w")
    assert not tensor.native.any()


def test_an_edge_that_copies_and_cannot_serve_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("cpu", "beta", OnlyEven),
        edge("cpu", "beta", Copy, access=("r",)),
    )
    with pytest.raises(NoRouteError) as caught:
        sb.tensor(np.zeros((3, 2))).map("beta", "rw")
    assert 'it copies, and serves access r, not "rw"' in str(caught.value)


def test_no_edge_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "alpha", Alias))
    with pytest.raises(NoRouteError, match="no installed plugin maps tensors to beta"):
        sb.route("cpu", "beta", level="tensor")
    with pytest.raises(NoRouteError, match="no installed plugin maps tensors from beta"):
        sb.route("beta", "alpha", level="tensor")


def test_access_is_checked_before_the_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "alpha", Alias))
    array = np.zeros((4, 4), np.uint8)
    array.flags.writeable = False
    tensor = sb.tensor(array)
    for target in ("cpu", "alpha"):
        with pytest.raises(AccessError, match="read-only cpu"):
            tensor.map(target, "rw")
        assert tensor.map(target).readonly
    readonly = sb.tensor(np.zeros((4, 4), np.uint8)).map("alpha")
    with pytest.raises(AccessError, match="read-only alpha"):
        readonly.map("alpha", "w")


@pytest.mark.parametrize("copy", [False, True])
def test_writing_to_a_read_only_object_is_refused_before_routes_are(
    monkeypatch: pytest.MonkeyPatch, copy: bool
) -> None:
    """Neither copy=True nor another route would help."""
    copies, none = edge("cpu", "alpha", Copy, access=("r",)), ()
    array = np.zeros((4, 4), np.uint8)
    array.flags.writeable = False
    tensor, frame = sb.tensor(array), sb.frame(array, format="GRAY8")
    every = edge("cpu", "alpha", Copy)
    refusing = edge("cpu", "alpha", RefusesAll)
    for edges in ((copies,), none, (every,), (refusing,)):
        install(monkeypatch, *edges)
        for item in (tensor, frame):
            with pytest.raises(AccessError, match="read-only cpu"):
                item.map("alpha", "rw", copy=copy)
            with pytest.raises(AccessError, match="read-only cpu"):
                sb.route(item, "alpha", access="w", copy=copy)


@pytest.mark.parametrize("copy", [False, True])
def test_writing_to_a_read_only_object_is_refused_by_an_edge_alone(copy: bool) -> None:
    array = np.zeros((4, 4), np.uint8)
    array.flags.writeable = False
    spec = edge("cpu", "alpha", Copy)
    with pytest.raises(AccessError, match="read-only cpu"):
        Copy(spec, sb.context("cpu"), ALPHA).map(sb.tensor(array), "rw", copy=copy)


def test_unknown_names(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    tensor = sb.tensor(np.zeros(3))
    with pytest.raises(UnknownNameError, match="did you mean 'alpha'"):
        tensor.map("alhpa")
    with pytest.raises(UnknownNameError, match="access mode"):
        tensor.map("alpha", "x")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="a target is"):
        tensor.map(7)  # type: ignore[call-overload]


def test_unmet_requirements_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "beta", Alias, requires=("made-up>=2,<3",)))
    with pytest.raises(NoRouteError, match=r"made-up-dist 1\.5 is here"):
        sb.route("cpu", "beta", level="tensor")
    install(monkeypatch, edge("cpu", "beta", Alias, requires=("absent",)))
    with pytest.raises(NoRouteError, match="plugin 'absent', which is not installed"):
        sb.route("cpu", "beta", level="tensor")


def test_an_error_names_no_edge_that_leads_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("cpu", "beta", OnlyEven),
        edge("cpu", "beta", Copy, access=("r",)),
        edge("cpu", "gpu", Copy, access=("r",)),
        edge("alpha", "beta", Alias, access=("r",)),
    )
    for copy in (False, True):
        with pytest.raises(NoRouteError) as caught:
            sb.tensor(np.zeros((3, 2))).map("beta", "rw", copy=copy)
        named = [reason.partition(":")[0] for reason in caught.value.reasons]
        assert named == ["cpu -> beta", "cpu -> beta [made-up]"]


def test_one_reason_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("cpu", "alpha", RefusesAll),
        edge("alpha", "beta", Alias),
        edge("alpha", "gpu", Alias),
        edge("gpu", "beta", Alias),
        gpu={"devices": None, "derives_from": ()},
    )
    for find in (sb.tensor(np.zeros((3, 2))).map, partial(sb.route, sb.tensor(np.zeros((3, 2))))):
        with pytest.raises(NoRouteError) as caught:
            find("beta")
        assert caught.value.reasons == ("cpu -> alpha -> beta: it never takes anything",)
