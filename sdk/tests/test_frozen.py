# SPDX-License-Identifier: Apache-2.0
"""`frozen` classes behave as those of dataclass(frozen=True, slots=True) with the same fields."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from dataclasses import KW_ONLY, FrozenInstanceError, dataclass, field
from typing import Any

import pytest

from samebytes._frozen import frozen


@dataclass(frozen=True, slots=True)
class Usual:
    """A class with every kind of field."""

    name: str
    size: int = 3
    _: KW_ONLY
    tags: list[str] = field(default_factory=list, hash=False)
    note: str = field(default="", compare=False, repr=False)
    fixed: int = field(default=7, init=False)
    made: list[int] = field(default_factory=list, init=False, compare=False)
    area: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "area", self.size**2)


@frozen()
class Quick:
    """A class with every kind of field."""

    name: str
    size: int = 3
    _: KW_ONLY
    tags: list[str] = field(default_factory=list, hash=False)
    note: str = field(default="", compare=False, repr=False)
    fixed: int = field(default=7, init=False)
    made: list[int] = field(default_factory=list, init=False, compare=False)
    area: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "area", self.size**2)


@frozen(eq=False, repr=False)
class Bare:
    """A class without the methods that can be left out."""

    name: str

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError("its own")


@frozen()
class Empty:
    """A class without fields."""


@pytest.fixture(params=[Usual, Quick])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_of_instances(kind: Any) -> None:
    one = kind("a", 4, tags=["t"], note="n")
    assert (one.name, one.size, one.tags, one.note, one.area) == ("a", 4, ["t"], "n", 16)
    assert (one.fixed, one.made) == (7, [])
    assert kind("a").tags is not kind("a").tags
    assert repr(one) == f"{kind.__name__}(name='a', size=4, tags=['t'], fixed=7, made=[], area=16)"
    assert one == kind("a", 4, tags=["t"], note="other")
    assert one != kind("a", 4)
    assert one != kind("b", 4, tags=["t"])
    assert hash(one) == hash(kind("a", 4)) == hash(("a", 4, 7))
    assert (one == object()) is False
    assert dataclasses.replace(one, size=5).area == 25
    assert dataclasses.asdict(one)["tags"] == ["t"]
    for other in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert other == one
        assert (other.area, other.note) == (16, "n")
    match one:
        case kind(name, size):
            assert (name, size) == ("a", 4)
        case _:
            raise AssertionError


def test_cannot_be_changed(kind: Any) -> None:
    one = kind("a")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        one.name = "b"
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del one.name
    assert one.name == "a"
    with pytest.raises(FrozenInstanceError):
        Quick("a").unknown = 1  # type: ignore[attr-defined]


def test_arguments(kind: Any) -> None:
    for given, named in (
        ((), {}),
        (("a", 1, ["t"]), {}),
        (("a",), {"fixed": 1}),
        (("a",), {"name": "b"}),
    ):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            kind(*given, **named)


def test_of_classes() -> None:
    assert str(inspect.signature(Quick)) == str(inspect.signature(Usual))
    for quick, usual in zip(
        inspect.signature(Quick).parameters.values(),
        inspect.signature(Usual).parameters.values(),
        strict=True,
    ):
        assert (quick.name, quick.kind, quick.annotation) == (
            usual.name,
            usual.kind,
            usual.annotation,
        )
        assert (quick.default is quick.empty) == (usual.default is usual.empty)
    assert [f.name for f in dataclasses.fields(Quick)] == [
        f.name for f in dataclasses.fields(Usual)
    ]
    assert Quick.__match_args__ == Usual.__match_args__
    assert not hasattr(Quick("a"), "__dict__")
    assert Quick.__hash__.__qualname__ == Usual.__hash__.__qualname__.replace("Usual", "Quick")


def test_subclasses() -> None:
    class Plain(Quick):
        __slots__ = ("more",)

    one: Any = Plain("a")
    one.more = 1
    assert one.more == 1
    with pytest.raises(FrozenInstanceError):
        one.name = "b"
    del one.more
    assert not hasattr(one, "more")
    assert one != Quick("a")


def test_dataclasses_of_a_frozen_one() -> None:
    def longer() -> Any:
        return type("Longer", (Quick,), {"__annotations__": {"last": "int"}, "last": 1})

    assert dataclass(frozen=True)(longer())("a", 2, 9).last == 9
    with pytest.raises(TypeError, match="frozen"):
        dataclass(longer())


def test_methods_of_its_own_and_none() -> None:
    one = Bare("a")
    assert one.name == "a"
    assert one != Bare("a")
    assert repr(one).startswith(f"<{Bare.__module__}.Bare object")
    with pytest.raises(FrozenInstanceError, match="its own"):
        one.name = "b"  # type: ignore[misc]
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())


def test_first_instances_in_two_threads() -> None:
    @frozen()
    class Shared:
        """Made here, so that none has been made of it."""

        number: int

    found: list[Shared] = []
    barrier = threading.Barrier(4)

    def make(number: int) -> None:
        barrier.wait()
        found.append(Shared(number))

    threads = [threading.Thread(target=make, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.number for each in found} == {0, 1, 2, 3}


def test_needs_a_docstring() -> None:
    with pytest.raises(AssertionError, match="docstring"):
        frozen()(type("Nameless", (), {"__annotations__": {"a": "int"}}))
