# SPDX-License-Identifier: Apache-2.0
"""samebytes.copied() and fork(): no pickle is made, and what the child finds is a copy for it."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import UnsupportedObjectError

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork(), as Linux has it"),
    # Python's own word on threads.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def a_frame() -> sb.Frame:
    frame = sb.frame(np.full((48, 64), 3, np.uint8), format="GRAY8")
    frame.meta.pts, frame.meta.time_base = 7, Fraction(1, 25)
    frame.metadata["camera"] = 2
    frame.meta.regions.append(sb.Region(0, 0, 4, 4))
    return frame


def padded() -> sb.Frame:
    return sb.frame(np.full((48, 80), 3, np.uint8)[:, :64], format="GRAY8")


def frozen() -> sb.Tensor:
    array = np.full((4, 6), 3, np.int16)
    array.flags.writeable = False
    return sb.tensor(array)


def carried() -> sb.Tensor:
    tensor = sb.context("cpu").allocate((4, 6), "bfloat16")
    tensor.native[...] = 3
    return tensor


ITEMS: dict[str, Callable[[], Any]] = {
    "a frame": a_frame,
    "a frame with padded rows": padded,
    "a frame of planes": lambda: sb.context("cpu").allocate_frame("NV12", 64, 48),
    "a tensor": lambda: sb.tensor(np.full((4, 6), 3, np.int16)),
    "a read-only tensor": frozen,
    "a tensor of a carried type": carried,
}


def seen(item: Any) -> tuple[Any, ...]:
    """Note what a child finds in an item, write to it unless it is read-only, return the notes."""
    planes = item.planes if isinstance(item, sb.Frame) else [item]
    known: tuple[Any, ...] = ()
    if isinstance(item, sb.Frame):
        meta = item.meta
        known = item.format.name, meta.pts, meta.time_base, meta.metadata, list(meta.regions)
    bits = [(str(p.dtype), p.shape, p.map("cpu").native.tobytes()) for p in planes]
    found = type(item).__name__, item.memory_type, item.readonly, known, bits, repr(item)[:7]
    if not item.readonly:
        for plane in planes:
            plane.native[...] = 99
    return found


def by_process(given: Any) -> Any:
    start = multiprocessing.get_context("fork")
    answers = start.SimpleQueue()
    process = start.Process(target=lambda item: answers.put(seen(item)), args=(given,))
    process.start()
    found = answers.get()
    process.join()
    return found


_GLOBAL: list[Any] = []


def of_global(number: int) -> Any:
    return seen(_GLOBAL[number])


def by_pool(given: Any) -> Any:
    with multiprocessing.get_context("fork").Pool(1, _GLOBAL.append, (given,)) as pool:
        return pool.apply(of_global, (-1,))


def by_executor(given: Any) -> Any:
    start = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, start, _GLOBAL.append, (given,)) as executor:
        return executor.submit(of_global, -1).result(60)


def by_fork(given: Any) -> Any:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, pickle.dumps(seen(given)))
            os._exit(0)
        finally:
            os._exit(99)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        found = file.read()
    assert os.waitpid(child, 0) == (child, 0)
    return pickle.loads(found)


def by_another_process(given: Any) -> Any:
    """The child hands it on, without a look at it."""
    start = multiprocessing.get_context("fork")
    answers = start.SimpleQueue()
    process = start.Process(target=answers.put, args=(given,))
    process.start()
    found = answers.get()
    process.join()
    return seen(found)


@pytest.mark.parametrize("way", [by_process, by_pool, by_executor, by_fork, by_another_process])
@pytest.mark.parametrize("kind", ITEMS)
def test_a_forked_child_finds_what_a_pickle_would_bring(kind: str, way: Any) -> None:
    item = ITEMS[kind]()
    planes = item.planes if isinstance(item, sb.Frame) else [item]
    before = [plane.native.tobytes() for plane in planes]
    expected = seen(pickle.loads(pickle.dumps(sb.copied(item))))
    given = sb.copied(item)
    found = way(given)
    assert found == expected
    assert [plane.native.tobytes() for plane in planes] == before  # it has written to its own
    assert way(given) == expected  # it is still there, for the next one
    sb.reset_stats()


def test_here_it_is_for_others_alone() -> None:
    item = a_frame()
    given: Any = sb.copied(item)
    twins = copy.copy(given), copy.deepcopy(given)
    assert [twin.pts for twin in twins] == [7, 7]
    assert repr(given) == f"copied({item!r})"
    for name in ("planes", "map", "meta"):
        with pytest.raises(AttributeError, match=r"copied\(x\) is x for another process"):
            getattr(given, name)("cpu")
    assert sb.copied(given) is given
    with pytest.raises(UnsupportedObjectError):
        sb.copied(np.zeros(3))  # type: ignore[type-var]
    sb.reset_stats()


class Scored(NamedTuple):
    scores: Any
    label: str


def test_tensors_go_along_in_containers_of_any_class() -> None:
    scores = sb.tensor(np.arange(3, dtype=np.float32))
    frame = sb.frame(np.zeros((2, 4), np.uint8), format="GRAY8")
    frame.metadata["all"] = [
        Scored(scores, "cat"), OrderedDict(scores=scores), defaultdict(list, scores=[scores]),
    ]  # fmt: skip
    named, ordered, default = pickle.loads(pickle.dumps(sb.copied(frame))).metadata["all"]
    assert (type(named), type(ordered), type(default)) == (Scored, OrderedDict, defaultdict)
    assert (named.label, default["other"]) == ("cat", [])
    for tensor in (named.scores, ordered["scores"], default["scores"][0]):
        assert (type(tensor), tensor.native.tolist()) == (sb.CpuTensor, [0, 1, 2])
    assert frame.metadata["all"][1]["scores"] is scores  # what is copied stays as it is


class Settings(dict[str, Any]):
    """It is never changed."""

    def __setitem__(self, *_: object) -> None:
        raise TypeError


class Span(tuple[Any, ...]):
    __slots__ = ()

    def __new__(cls, first: Any, last: Any) -> Span:
        return super().__new__(cls, (first, last))

    def __reduce__(self) -> Any:
        return Span, tuple(self)


def test_containers_without_tensors_are_pickled_as_they_are() -> None:
    frame = sb.frame(np.zeros((2, 4), np.uint8), format="GRAY8")
    frame.metadata["all"] = [sb.tensor(np.arange(3)), Settings(), Span([1], {"last": 2})]
    _, *got = pickle.loads(pickle.dumps(sb.copied(frame))).metadata["all"]
    assert (got, [*map(type, got)]) == ([{}, ([1], {"last": 2})], [Settings, Span])


@pytest.mark.parametrize("make", [lambda one: Settings(it=one), lambda one: Span(one, one)])
def test_containers_that_take_no_copies_say_what_to_do(make: Callable[[Any], Any]) -> None:
    frame = sb.frame(np.zeros((2, 4), np.uint8), format="GRAY8")
    tensor = sb.tensor(np.arange(3))
    frame.metadata["all"] = make(tensor)
    with pytest.raises(TypeError, match=r"samebytes\.copied\(tensor\)"):
        pickle.dumps(sb.copied(frame))
    frame.metadata["all"] = make(sb.copied(tensor))
    assert pickle.dumps(sb.copied(frame))


def test_metadata_that_hold_themselves_are_copied() -> None:
    frame = sb.frame(np.zeros((2, 4), np.uint8), format="GRAY8")
    row: list[Any] = [sb.tensor(np.arange(3))]
    row += [row, {"row": row}]
    frame.metadata.update(row=row, again=row)
    got = pickle.loads(pickle.dumps(sb.copied(frame))).metadata
    assert got["row"] is got["again"] is got["row"][1] is got["row"][2]["row"]


@pytest.mark.parametrize("protocol", [4, 5])
def test_tensors_in_the_metadata_go_along(protocol: int) -> None:
    frame = sb.frame(np.zeros((2, 4), np.uint8), format="GRAY8")
    scores = sb.tensor(np.arange(3, dtype=np.float32))
    before = sb.frame(np.ones((2, 4), np.uint8), format="GRAY8")
    frame.metadata["inference"] = {"scores": scores, "all": [(scores, before)]}
    frame.regions.append(sb.Region(0, 0, 1, 1, metadata={"crop": scores}))
    got = pickle.loads(pickle.dumps(sb.copied(frame), protocol))
    found = got.metadata["inference"]
    for tensor in (found["scores"], found["all"][0][0], got.regions[0].metadata["crop"]):
        assert (type(tensor), tensor.native.tolist()) == (sb.CpuTensor, [0, 1, 2])
    assert found["all"][0][1].image == frame.image
