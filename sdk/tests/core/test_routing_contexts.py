# SPDX-License-Identifier: Apache-2.0
"""Contexts of routes: found by name, derived, kept for a while, closed and made again."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import samebytes as sb
from samebytes import Context
from samebytes.errors import (
    AmbiguousTargetError,
    ClosedError,
    NoRouteError,
)
from samebytes.plugins import HostContext, intern

from .made_up import (
    ALPHA,
    BETA,
    Alias,
    AlphaTensor,
    Closing,
    Gpu,
    RefusesAll,
    Watched,
    edge,
    install,
)

pytestmark = pytest.mark.usefixtures("made_up")


def crowd_out(tensor: sb.Tensor) -> None:
    """Have routing keep as many other contexts as it ever does, in place of those before."""
    for number in range(100, 116):
        tensor.map(f"gpu:{number}")


def test_ambiguous_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "gpu", Alias), edge("alpha", "gpu", Alias))
    tensor = sb.tensor(np.zeros((2, 2)))
    with pytest.raises(AmbiguousTargetError) as caught:
        tensor.map("gpu")
    assert caught.value.choices == ("gpu:0", "gpu:1")
    assert tensor.map("gpu:1").context.device.name == "1"
    derived = ALPHA.derive("gpu")
    assert derived.parent is None or derived.parent is ALPHA
    assert sb.context("gpu:1") == sb.context("gpu:1")
    with pytest.raises(NoRouteError, match="derive from alpha"):
        BETA.derive("gpu")


def test_contexts_that_map_to_each_other_are_released(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "gpu", Alias), edge("gpu", "cpu", Alias),
            edge("gpu", "gpu", Alias))  # fmt: skip
    one = Gpu.create("1", None)
    tensor = sb.tensor(np.zeros((2, 2)))
    there = tensor.map(one)
    there.map("cpu").map(one)
    alive = weakref.ref(one)
    gc.disable()
    try:
        del one, there
        assert alive() is None
    finally:
        gc.enable()


def test_a_context_that_is_gone_is_made_again_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "gpu", Alias))
    tensor = sb.tensor(np.zeros((2, 2)))
    first = weakref.ref(tensor.map("gpu:1").context)
    assert first() is not None  # kept for the next frame
    crowd_out(tensor)
    gc.collect()
    assert first() is None
    assert tensor.map("gpu:1").context.device.name == "1"


def test_routing_keeps_the_last_contexts_that_it_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline on several devices would make each again for every frame."""
    install(monkeypatch, edge("cpu", "gpu", Alias), gpu={"devices": None})
    tensor = sb.tensor(np.zeros((2, 2)))
    made = [weakref.ref(tensor.map(f"gpu:{number}").context) for number in range(16)]
    gc.collect()
    assert None not in [ref() for ref in made]
    assert tensor.map("gpu:0").context is made[0]()
    tensor.map("gpu:16").close()
    gc.collect()
    assert [ref() is None for ref in made] == [True] + [False] * 15


def test_a_context_between_that_is_gone_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the cheapest way refuses, and the others were found before."""
    alpha = edge("cpu", "alpha", Alias)
    rest = edge("alpha", "gpu", Alias), edge("gpu", "beta", Alias)
    for first in ([], [edge("alpha", "beta", RefusesAll)]):
        install(monkeypatch, alpha, *first, *rest, gpu={"devices": None})
        tensor = sb.tensor(np.zeros((2, 2))).map("alpha")
        for _ in range(3):
            assert tensor.map("beta").context is BETA
            crowd_out(tensor)
            gc.collect()


def test_a_context_that_is_closed_while_a_route_to_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, edge("cpu", "gpu", Closing))
    tensor, context = sb.tensor(np.zeros((2, 2))), Gpu.create("1", None)
    assert tensor.map(context).context is context
    assert context.closed


def test_a_context_that_was_closed_is_made_again_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that routing kept is equal to the new one, which it must keep all the same."""
    install(monkeypatch, edge("cpu", "gpu", Alias))
    tensor = sb.tensor(np.zeros((2, 2)))
    for _ in range(3):
        tensor.map("gpu:1").context.close()


def test_contexts_that_routing_kept_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing takes Python code, and another thread may keep or drop one meanwhile."""
    install(monkeypatch, edge("cpu", "gpu", Alias), gpu={"devices": None})
    tensor = sb.tensor(np.zeros((2, 2)))

    def compared(_: Gpu, other: object) -> bool:
        assert not isinstance(other, Gpu)
        return False

    kept = [tensor.map(f"gpu:{number}").context for number in range(1, 3)]
    monkeypatch.setattr(Gpu, "__eq__", compared)
    kept[1].close()
    last = tensor.map("gpu:4").context
    forgotten = weakref.ref(kept.pop())
    gc.collect()
    assert forgotten() is None
    alive = weakref.ref(last)
    del last
    gc.collect()
    assert alive() is not None


def test_a_closed_context_at_the_end_of_a_route_that_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first edge refuses before anybody sees that the context at the end was closed."""
    install(monkeypatch, edge("cpu", "alpha", RefusesAll), edge("alpha", "gpu", Alias),
            edge("cpu", "beta", Alias, cost=9.0), edge("beta", "gpu", Alias))  # fmt: skip
    tensor = sb.tensor(np.zeros((2, 2)))
    held = []  # closed contexts that somebody still holds
    for _ in range(3):
        held.append(tensor.map("gpu:1").context)
        held[-1].close()


def test_an_equal_context_follows_one_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "gpu", Alias))
    tensor = sb.tensor(np.zeros((2, 2)))
    entries = len(tensor.context.tensor_routes)
    for _ in range(3):
        context = Gpu.create("1", None)
        assert tensor.map(context).context is context
        assert tensor.map(context).context is context
    assert len(tensor.context.tensor_routes) == entries + 1, "those that are gone left something"


@pytest.mark.parametrize("closed", [False, True])
def test_a_context_follows_one_that_had_its_handles(
    monkeypatch: pytest.MonkeyPatch, closed: bool
) -> None:
    """The driver may give a new object the address of one that is gone, which somebody holds."""
    install(monkeypatch, edge("cpu", "gpu", Alias), edge("gpu", "gpu", Alias))
    tensor = sb.tensor(np.zeros((2, 2)))
    first = Gpu.create("1", None)
    above = Gpu.create("0", None)
    first.parent = None if closed else above
    before = tensor.map(first)
    second = Gpu.create("1", None)
    assert first == second
    (first if closed else above).close()
    assert first != second
    assert hash(first) == hash(second)
    assert tensor.map(second).context is second
    assert before.context is first


@pytest.mark.parametrize("closed", [False, True])
def test_a_route_ends_with_its_context(monkeypatch: pytest.MonkeyPatch, closed: bool) -> None:
    """The route ends when its context is gone or closed, though tensors still hold a closed one."""
    install(monkeypatch, edge("gpu", "cpu", Watched))
    context = Gpu.create("1", None)
    tensor = AlphaTensor.borrowed(np.zeros((2, 2)), context)
    tensor.map("cpu")
    mapper = Watched.made[-1]
    assert mapper() is not None
    gc.disable()
    try:
        if closed:
            context.close()
        else:
            del context, tensor
        assert mapper() is None
    finally:
        gc.enable()


def test_closed_context(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, edge("cpu", "gpu", Alias))
    context = Gpu.create("1", None)
    tensor = sb.tensor(np.zeros((2, 2)))
    mapped = tensor.map(context)
    context.close()
    assert tensor.map(context).context is context, "requests in it map their inputs to it"
    assert mapped.map(context.node).context is context
    assert tensor.map("gpu:1").context is not context, "a name leads to an open one"
    with pytest.raises(ClosedError):
        context.derive("cpu")
    with pytest.raises(ClosedError), context:
        pass
    cpu = sb.context("cpu")
    cpu.close()
    assert cpu.allocate((2,)).shape == (2,)


def test_a_context_of_a_class_that_was_replaced_is_not_found_again() -> None:
    """As when another release of its plugin is installed into the running process."""

    class Before(HostContext):
        memory_type = node = "reinstalled"

    class After(HostContext):
        memory_type = node = "reinstalled"

    before, after = intern(Before()), intern(After())
    assert before == after
    assert isinstance(after, After)
    assert intern(After()) is after


def test_a_context_of_a_closed_one_is_not_found_again() -> None:
    """Its handles were that one's, and the same numbers may be those of something new by now."""

    class Above(Context):
        memory_type = node = "above"

    class Below(Context):
        memory_type = node = "below"

    def derived() -> tuple[Context, Context]:
        above = intern(Above(handles={"va_display": 64}))
        return above, intern(Below(handles={"va_display": 64}, parent=above))

    above, below = derived()
    assert derived() == (above, below)
    assert derived()[1] is below
    above.close()
    above_again, again = derived()
    assert above_again is not above
    assert again is not below
    assert again.parent is above_again


def test_a_context_between_shares_the_handles_of_the_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One of its own would be on another native context, from which nothing goes on."""
    install(
        monkeypatch, edge("cpu", "gpu", Alias), edge("gpu", "alpha", Alias),
        gpu={"devices": None},
    )  # fmt: skip
    assert sb.route("cpu", "alpha").contexts[1].parent is ALPHA
