# SPDX-License-Identifier: Apache-2.0
"""Routes between made-up memory types: which is taken, what it copies, and what it holds."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import Transfer
from samebytes.errors import (
    CopyRequiredError,
    NoRouteError,
    UnknownNameError,
    UnsupportedObjectError,
)

from .made_up import (
    ALPHA,
    BETA,
    GPU,
    Alias,
    Broken,
    Copy,
    Mapped,
    OnlyDense,
    OnlyEven,
    OwnedCopy,
    RefusesAll,
    edge,
    install,
)

pytestmark = pytest.mark.usefixtures("made_up")


def test_cheapest_first_ties_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("cpu", "beta", Alias, cost=5.0),
        edge("cpu", "alpha", Alias),
        edge("alpha", "beta", Alias),
    )
    route = sb.route("cpu", "beta", level="tensor")
    assert [h.spec.name for h in route.hops] == ["cpu -> alpha", "alpha -> beta"]
    assert route.cost == 2
    install(monkeypatch, edge("cpu", "beta", OnlyEven), edge("cpu", "beta", Alias, summary="B"))
    assert sb.route("cpu", "beta", level="tensor").hops[0].spec.name == "cpu -> beta"


def test_a_chain_keeps_parent_storages_and_pointer(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch, edge("cpu", "alpha", Mapped, transfer=Transfer.MAP),
        edge("alpha", "beta", Mapped, transfer=Transfer.MAP),
    )  # fmt: skip
    array = np.zeros((4, 4), np.uint8)
    tensor = sb.tensor(array)
    mapped = tensor.map("beta", "rw")
    assert mapped.parent is tensor
    assert mapped.memory_type == "beta"
    mapped.native[1, 1] = 3
    assert array[1, 1] == 3
    view = mapped.native[0]
    assert mapped.close() is False
    assert Mapped.released == []
    del view
    mapped.close()
    assert Mapped.released == ["alpha -> beta", "cpu -> alpha"]


def test_dropping_a_chain_releases_last_first(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch, edge("cpu", "alpha", Mapped, transfer=Transfer.MAP),
        edge("alpha", "beta", Mapped, transfer=Transfer.MAP),
    )  # fmt: skip
    native = sb.tensor(np.zeros((4, 4), np.uint8)).map("beta").native
    assert Mapped.released == []
    del native
    assert Mapped.released == ["alpha -> beta", "cpu -> alpha"]


def test_refusal_tries_the_next_way(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("cpu", "beta", OnlyEven),
        edge("cpu", "alpha", Alias),
        edge("alpha", "beta", Alias),
    )
    assert sb.tensor(np.zeros((4, 2))).map("beta").shape == (4, 2)
    assert sb.tensor(np.zeros((3, 2))).map("beta").shape == (3, 2)
    route = sb.route(sb.tensor(np.zeros((3, 2))), "beta")
    assert [h.spec.name for h in route.hops] == ["cpu -> alpha", "alpha -> beta"]
    assert "the number of rows is odd" in route.explain()
    assert "no copy, cost" in route.explain()
    for number, hop in enumerate(route.hops, 1):
        assert f"  {number}. {hop.spec.name}" in route.explain()
    assert route.explain().count("ALIAS   cost 1  Alias") == 2
    assert str(route) == route.explain()


def test_between_names_the_layout_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "beta", OnlyEven))
    named = sb.route("cpu", "beta", level="tensor")
    assert not named.item_checked
    assert "no copy for memory of the best layout, cost" in named.explain()
    assert 'samebytes.route(tensor, "beta")' in named.explain()
    assert sb.route(sb.tensor(np.zeros((4, 2))), "beta").item_checked


def test_between_names_an_edge_for_special_memory_promises_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, edge("cpu", "beta", OnlyEven, only="an even number of rows"))
    named = sb.route("cpu", "beta", level="tensor")
    condition = "cpu -> beta takes only an even number of rows"
    assert named.depends_on == (condition,)
    text = named.explain()
    assert "no copy" not in text
    assert f"depends on the object: {condition}" in text
    assert 'samebytes.route(tensor, "beta")' in text
    assert (named.as_dict()["copies"], named.as_dict()["depends_on"]) == (None, [condition])
    own = sb.route(sb.tensor(np.zeros((4, 2))), "beta")
    assert own.depends_on == ()
    assert own.as_dict()["copies"] is False
    assert "no copy, cost" in own.explain()


def test_refusal_tries_another_edge_between_the_same_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, edge("cpu", "beta", OnlyEven), edge("cpu", "beta", Alias, cost=2.0))
    assert sb.tensor(np.zeros((3, 2))).map("beta").shape == (3, 2)


def test_the_lowest_cost_wins_also_through_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """A route through a device needs a context for it: of two devices, nobody has said which."""
    edges = (
        edge("cpu", "beta", Mapped, transfer=Transfer.MAP),
        edge("cpu", "gpu", Alias),
        edge("gpu", "beta", Alias),
    )
    for devices, route in ((None, ["cpu", "gpu", "beta"]), (GPU["devices"], ["cpu", "beta"])):
        install(monkeypatch, *edges, gpu={"devices": devices})
        found = sb.route("cpu", "beta", level="tensor")
        assert [c.node for c in found.contexts] == route
        mapped = sb.tensor(np.zeros((3, 2))).map("beta")
        assert bool(mapped.storage.nbytes) == (len(route) == 2)


def test_where_the_direct_mapping_refuses_a_device_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(
        monkeypatch,
        edge("cpu", "beta", OnlyEven),
        edge("cpu", "gpu", Alias),
        edge("gpu", "beta", Alias),
        gpu={"devices": None},
    )
    assert sb.tensor(np.zeros((3, 2))).map("beta").shape == (3, 2)


def test_a_way_through_a_device_comes_before_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("alpha", "beta", Copy),
        edge("alpha", "gpu", Alias),
        edge("gpu", "beta", Alias),
    )
    route = sb.route("alpha", "beta", level="tensor", copy=True)
    assert [h.spec.name for h in route.hops] == ["alpha -> gpu", "gpu -> beta"]


def test_copies_are_tried_however_many_ways_without_one_refuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusing = [edge("cpu", "beta", RefusesAll, cost=float(n), summary=str(n)) for n in range(20)]
    install(monkeypatch, *refusing, edge("cpu", "beta", Copy))
    assert sb.tensor(np.zeros((3, 2))).map("beta", copy=True).shape == (3, 2)


def test_route_takes_access_by_position_as_map_does(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "beta", Alias))
    assert sb.route("cpu", "beta", "rw").access == "rw"
    assert sb.route(sb.tensor(np.zeros(3)), "beta", "w").access == "w"


def test_the_route_of_an_array_that_is_not_wrapped() -> None:
    array: Any = np.zeros(3)
    with pytest.raises(UnsupportedObjectError, match=r"wrap it first, samebytes\.wrap\(x\)"):
        sb.route(array, "cpu")


def test_a_handle_of_the_context_asked_of_its_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "gpu", Alias))
    tensor = sb.tensor(np.zeros(3)).map("gpu:0")
    with pytest.raises(UnknownNameError) as caught:
        tensor.handle("cl_context")
    assert caught.value.nearest == ()
    assert "its context has it: use .context.handle('cl_context')" in str(caught.value)
    assert tensor.context.handle("cl_context") == 1


def test_copy_only_when_allowed_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "alpha", Copy))
    array = np.zeros((4, 4), np.uint8)
    with pytest.raises(CopyRequiredError) as caught:
        sb.tensor(array).map("alpha")
    assert caught.value.edge == "cpu -> alpha"
    with pytest.raises(CopyRequiredError):
        sb.route("cpu", "alpha")
    sb.reset_stats()
    copied = sb.tensor(array).map("alpha", copy=True)
    array[0, 0] = 1
    assert copied.native[0, 0] == 0
    assert sb.stats().by_edge["cpu -> alpha"].nbytes == 16
    assert sb.route("cpu", "alpha", copy=True).copies


def test_dense_copy_joins_a_route(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layout that an edge refuses is made dense first, if copying is allowed."""
    install(monkeypatch, edge("cpu", "alpha", OnlyDense))
    array = np.arange(12, dtype=np.uint8).reshape(3, 4).T
    strided = sb.tensor(array)
    with pytest.raises(CopyRequiredError, match="it is not dense"):
        strided.map("alpha")
    sb.reset_stats()
    dense = strided.map("alpha", copy=True)
    assert dense.strides == (3, 1)
    assert np.array_equal(dense.native, array)
    assert sb.stats().by_edge["cpu -> cpu"].nbytes == 12
    assert sb.tensor(np.zeros((4, 4))).map("alpha", copy=True).shape == (4, 4)
    assert sb.stats().copies == 1


def test_via_builds_exactly_that_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("cpu", "beta", Alias),
        edge("cpu", "alpha", Alias),
        edge("alpha", "beta", Alias),
    )
    route = sb.route("cpu", "beta", level="tensor", via=(step for step in [ALPHA]))
    assert [h.spec.name for h in route.hops] == ["cpu -> alpha", "alpha -> beta"]
    tensor = sb.tensor(np.zeros((2, 2)))
    assert route.map(tensor).memory_type == "beta"
    assert route.hops[0].map(tensor).memory_type == "alpha"
    with pytest.raises(NoRouteError, match="no edge leads from beta to alpha"):
        sb.route("cpu", "alpha", level="tensor", via=[BETA])
    with pytest.raises(NoRouteError, match="leave out 'beta'"):
        sb.route("cpu", "beta", level="tensor", via=[ALPHA, BETA])
    with pytest.raises(NoRouteError, match="is not a tensor of"):
        route.map(tensor.map("alpha"))


def test_broken_mapper_is_named_and_gone_round(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("cpu", "beta", Broken),
        edge("cpu", "alpha", Alias),
        edge("alpha", "beta", Alias),
    )
    assert sb.tensor(np.zeros((2, 2))).map("beta").memory_type == "beta"
    route = sb.route("cpu", "beta", level="tensor")
    assert "pip install beta" in route.explain()
    install(monkeypatch, edge("cpu", "beta", Broken))
    with pytest.raises(NoRouteError, match="pip install beta"):
        sb.tensor(np.zeros((2, 2))).map("beta")


def test_a_key_error_inside_an_edge_is_not_taken_for_a_missing_route(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []

    def connect(*_: Any) -> Any:
        calls.append(1)
        raise KeyError("inside")

    install(monkeypatch, edge("cpu", "alpha", Alias))
    monkeypatch.setattr(Alias, "connect", connect)
    for _ in range(2):
        with pytest.raises(KeyError, match="inside"):
            sb.tensor(np.zeros(2)).map("alpha")
    assert len(calls) == 2


def test_many_threads_compile_the_same_route(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "beta", OnlyEven), edge("cpu", "alpha", Alias),
            edge("alpha", "beta", Alias))  # fmt: skip
    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def work(rows: int) -> None:
        try:
            start.wait(10)
            for _ in range(200):
                assert sb.tensor(np.zeros((rows, 2))).map("beta").shape == (rows, 2)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(rows,)) for rows in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


def test_refresh_forgets_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "alpha", Alias))
    tensor = sb.tensor(np.zeros(2))
    tensor.map("alpha")
    monkeypatch.undo()
    sb.refresh()
    with pytest.raises(UnknownNameError):
        tensor.map("alpha")


class TestTransit:
    """A node with transit=False: routes begin and end there, and do not lead through."""

    @pytest.fixture(autouse=True)
    def gpu_is_not_on_the_route(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(
            monkeypatch,
            edge("cpu", "gpu", Alias),
            edge("gpu", "beta", Alias),
            edge("cpu", "beta", Copy),
            edge("alpha", "cpu", Alias),
            gpu={"transit": False},
        )

    def test_no_route_leads_through(self) -> None:
        tensor = sb.tensor(np.zeros((3, 2)))
        with pytest.raises(CopyRequiredError, match="cpu -> beta") as caught:
            tensor.map("beta")
        assert "gpu" not in str(caught.value)
        route = sb.route("cpu", "beta", level="tensor", copy=True)
        assert [h.spec.name for h in route.hops] == ["cpu -> beta"]

    def test_it_is_a_target_and_a_source(self) -> None:
        tensor = sb.tensor(np.zeros((3, 2)))
        mapped = tensor.map("gpu:1")
        assert mapped.memory_type == "gpu"
        assert mapped.map("beta").native is not None
        hops = sb.route("alpha", "gpu:1").hops
        assert [h.spec.name for h in hops] == ["alpha -> cpu", "cpu -> gpu"]

    def test_via_leads_through_it(self) -> None:
        tensor = sb.tensor(np.zeros((3, 2)))
        route = sb.route(tensor, "beta", via="gpu:1")  # as ["gpu:1"], and not by its letters
        assert [c.node for c in route.contexts] == ["cpu", "gpu", "beta"]
        assert route.map(tensor).memory_type == "beta"


@pytest.mark.parametrize("level", ["tensor", "frame"])
def test_a_copy_lets_its_source_be_closed(monkeypatch: pytest.MonkeyPatch, level: str) -> None:
    """Also where the edge returns no storage, since the copy owns its own memory."""
    install(monkeypatch, edge("cpu", "alpha", Alias, level=level),
            edge("alpha", "beta", Copy, level=level))  # fmt: skip
    cpu = sb.context("cpu")
    source: sb.Tensor | sb.Frame = (
        cpu.allocate((2, 2)) if level == "tensor" else cpu.allocate_frame("GRAY8", 2, 2)
    )
    direct, alias = source.map("beta", copy=True), source.map("alpha")
    copied = alias.map("beta", copy=True)
    alias.close()
    source.close()
    assert not direct.closed
    assert not copied.closed


@pytest.mark.parametrize("level", ["tensor", "frame"])
def test_the_storage_of_a_copy_holds_nothing_of_its_source(
    monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    install(monkeypatch, edge("cpu", "beta", OwnedCopy, level=level, transfer=Transfer.COPY),
            edge("cpu", "alpha", OwnedCopy, level=level))  # fmt: skip
    cpu = sb.context("cpu")
    source: sb.Tensor | sb.Frame = (
        cpu.allocate((2, 2)) if level == "tensor" else cpu.allocate_frame("GRAY8", 2, 2)
    )
    copied, mapped = source.map("beta", copy=True), source.map("alpha")
    assert isinstance(copied.storage, sb.Storage)
    assert copied.storage.keep is None
    assert isinstance(mapped.storage, sb.Storage)
    assert mapped.storage.keep is source.storage
