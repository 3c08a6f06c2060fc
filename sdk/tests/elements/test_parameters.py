# SPDX-License-Identifier: Apache-2.0
"""Typed parameters: what annotations declare, and what values are refused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pytest

import samebytes.elements as el
from samebytes.errors import ParameterError

from .pictures import add, frames


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Many(el.Transform):
    path: Path
    number: Annotated[int, el.Range(1, 9), el.Doc("of things"), "counted"] = 5
    share: Annotated[float, el.Range(0)] = 0.5
    kind: Literal["a", "b"] = "a"
    level: Annotated[int, el.Choices(1, 2, 4)] = 2
    color: Color = Color.RED
    names: list[str] = []  # noqa: RUF012 - each element gets one of its own
    size: tuple[int, int] | None = None
    rate: Fraction = Fraction(25)
    flag: bool = False
    maybe: Literal["x", "y"] | None = None
    few: Annotated[int, el.Range(1, 3)] | None = None
    anything: Any = None
    call: Callable[[int], int] | None = None
    preset: Literal["ultrafast", "slow"] = "slow"
    options: Mapping[str, str] | None = None
    shared: ClassVar[int] = 3
    _private: int = 4


# Type checkers know the parameters as well; these tests pass what they would flag.
make: Any = Many


def test_what_annotations_declare() -> None:
    declared = Many.declared_parameters()
    assert list(declared) == [
        "path", "number", "share", "kind", "level", "color", "names", "size", "rate", "flag",
        "maybe", "few", "anything", "call", "preset", "options",
    ]  # fmt: skip
    assert declared["path"].required
    number = declared["number"]
    assert (number.type, number.default, number.required) == (int, 5, False)
    assert (number.range, number.description) == (el.Range(1, 9), "of things counted")
    assert declared["kind"].choices == ("a", "b")


def test_values_by_place_and_by_name() -> None:
    made = make("in.mp4", np.int64(7), share=1, size=[2, 3], rate="30000/1001", color="blue")
    assert (made.path, made.number, made.share) == (Path("in.mp4"), 7, 1.0)
    assert isinstance(made.share, float)
    assert (made.size, made.rate, made.color) == ((2, 3), Fraction(30000, 1001), Color.BLUE)
    assert made.parameters["number"] == 7
    assert repr(made).startswith("Many(path=")


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"number": 10}, "must be an int, 1 to 9, not 10"),
        ({"number": True}, "an int"),
        ({"number": 2.0}, "an int"),
        ({"share": -1}, "a number, >= 0"),
        ({"share": float("nan")}, "a number"),
        ({"kind": "c"}, "'a' or 'b'"),
        ({"level": 3}, "1 or 2 or 4"),
        ({"color": "green"}, "a Color"),
        ({"names": "abc"}, "list[str]"),
        ({"names": [1]}, "list[str]"),
        ({"size": (1, 2, 3)}, "tuple[int, int] or None"),
        ({"rate": "fast"}, "a Fraction"),
        ({"flag": 1}, "True or False"),
        ({"path": 3}, "a Path"),
        ({"call": 3}, "Callable"),
        ({"few": 4}, "an int, 1 to 3 or None"),
        ({"maybe": "z"}, "'x' or 'y' or None"),
        ({"missing": 3}, "it has no parameter 'missing': it has path, number"),
        ({"numbre": 3}, "it has no parameter 'numbre': did you mean 'number'? it has path, number"),
        ({"rate": float("inf")}, "a Fraction"),
        ({"rate": "1/0"}, "a Fraction"),
        ({"rate": True}, "a Fraction"),
        ({"rate": [1]}, "a Fraction"),
        ({"share": 10**400}, "a number"),
        ({"share": "0.5"}, "a number"),
        ({"path": None}, "a Path, not None"),
        ({"preset": "ultrafats"}, "(did you mean 'ultrafast'?), not 'ultrafats'"),
        ({"level": np.zeros(2)}, "1 or 2 or 4"),
        ({"options": {"crf": 20}}, "Mapping[str, str] or None, not {'crf': 20}"),
        ({"options": [("crf", "20")]}, "Mapping[str, str] or None"),
    ],
    ids=str,
)
def test_values_that_are_refused(parameters: dict[str, Any], expected: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make(**{"path": "x", **parameters})
    assert expected in str(caught.value)
    assert caught.value.element == "Many"
    assert caught.value.parameter in parameters


def test_a_missing_one_and_one_given_twice() -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value) == "element 'Many': parameter 'path' is missing: it must be a Path"
    with pytest.raises(ParameterError) as caught:
        make("x", path="y")
    twice = "parameter 'path' was passed twice: by position and by name"
    assert str(caught.value) == f"element 'Many': {twice}"
    assert (caught.value.parameter, caught.value.value) == ("path", "y")


def test_too_many_values() -> None:
    names = ", ".join(Many.declared_parameters())
    with pytest.raises(ParameterError) as caught:
        make(*range(17))
    text = f"too many values: 17 for 16 parameters ({names})"
    assert str(caught.value) == f"element 'Many': {text}"

    class Plain(el.Transform):
        pass

    plain: Any = Plain
    with pytest.raises(ParameterError, match=r"too many values: 1 for 0 parameters \(none\)"):
        plain(1)
    with pytest.raises(ParameterError, match="no parameter 'by': it has none"):
        plain(by=1)


def test_errors_of_values_show_no_password() -> None:
    with pytest.raises(ParameterError, match=r"rtsp://\.\.\.@host"):
        make("x", number="rtsp://me:secret@host")


@pytest.mark.parametrize(
    ("given", "rate"),
    [
        (29.97, Fraction(2997, 100)),
        (30000 / 1001, Fraction(30000, 1001)),
        (np.float64(1 / 3), Fraction(1, 3)),
        (np.float32(0.5), Fraction(1, 2)),
        (np.int64(25), Fraction(25)),
        (Decimal("12.5"), Fraction(25, 2)),
        ("24000/1001", Fraction(24000, 1001)),
        (Fraction(1, 10**9), Fraction(1, 10**9)),
    ],
    ids=repr,
)
def test_numbers_become_fractions(given: object, rate: Fraction) -> None:
    made = make("x", rate=given).rate
    assert made == rate
    assert type(made.numerator) is int


def test_mappings_are_the_users_own() -> None:
    options = {"crf": "20"}
    assert make("x", options=options).options is options


def test_lists_are_the_users_own_and_defaults_each_elements_own() -> None:
    names = ["a"]
    assert make("x", names=names).names is names
    first, second = make("x"), make("x")
    first.names.append("b")
    assert not second.names

    class Counts(el.Transform):
        kept: Any = bytearray(b"x")

    assert Counts().kept is not Counts().kept


def test_setting_one_later_checks_it_too() -> None:
    made = make("x")
    made.number = 9
    with pytest.raises(ParameterError):
        made.number = 0
    assert made.number == 9


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("number", "7", 7), ("share", "0.25", 0.25), ("flag", "yes", True), ("flag", "0", False),
        ("level", "4", 4), ("kind", "b", "b"), ("names", "a, b", ["a", "b"]), ("names", "", []),
        ("size", "3,4", (3, 4)), ("size", "none", None), ("path", "a/b", Path("a/b")),
        ("few", "3", 3), ("few", "", None), ("maybe", "x", "x"),
        ("rate", "24000/1001", Fraction(24000, 1001)), ("color", "RED", Color.RED),
    ],
)  # fmt: skip
def test_values_from_text(name: str, text: str, value: object) -> None:
    assert Many.declared_parameters()[name].parse("Many", text) == value


@pytest.mark.parametrize(("name", "text"), [("number", "x"), ("flag", "maybe"), ("level", "3")])
def test_text_that_is_refused(name: str, text: str) -> None:
    with pytest.raises(ParameterError):
        Many.declared_parameters()[name].parse("Many", text)


def test_parameters_of_bases_come_first() -> None:
    class More(Many):
        last: int = 1
        number: int = 50

    assert [*More.declared_parameters()][-1] == "last"
    assert More(Path("x")).number == 50


def test_annotations_that_are_not_there_when_it_runs() -> None:
    class Broken(el.Transform):
        model: Missing  # type: ignore[name-defined]  # noqa: F821 - what is tested

    with pytest.raises(TypeError, match=r"Broken: an annotation names 'Missing'.*TYPE_CHECKING"):
        Broken(model=1)


def test_a_parameter_that_would_hide_what_elements_have() -> None:
    class Hides(el.Transform):
        name: str  # type: ignore[misc]  # what is tested

    with pytest.raises(TypeError, match="Hides: no parameter can be called 'name'"):
        Hides(name="x")

    class Declares(el.Transform):
        takes: ClassVar[Any] = el.Image()

    assert not Declares.declared_parameters()


class Brighter:
    """An object that is called; its annotations are those of the method."""

    def __call__(self, picture: Any, *, by: Annotated[int, el.Range(0, 9)] = 2) -> Any:
        picture.planes[0].native[...] += by
        return picture


@pytest.mark.parametrize("called", [Brighter(), Brighter().__call__, partial(Brighter(), by=2)])
def test_objects_that_are_called(called: Any) -> None:
    with el.Pipeline(frames(2), called).start(threads=0) as out:
        assert [picture.planes[0].native[0, 0] for picture in out] == [2, 3]
    with pytest.raises(ParameterError, match=r"'by' must be.*0 to 9"):
        el.transform(takes=el.Image(memory="cpu", access="rw"))(called)(by=10)


@pytest.mark.parametrize(
    ("given", "decorated"),
    [(threading.Lock(), False), (threading.Lock(), True), (bytearray(b"x"), False)],
)
def test_what_a_partial_holds_is_passed_as_it_is(given: Any, decorated: bool) -> None:
    """A model, say, which cannot be copied."""
    seen = []

    def work(picture: Any, model: Any) -> Any:
        seen.append(model)
        return picture

    called: Any = partial(work, model=given)
    el.Pipeline(frames(2), el.transform()(called)() if decorated else called).run()
    assert all(one is given for one in seen)
    assert len(seen) == 2


def test_a_list_of_a_plain_function_is_the_users() -> None:
    def note(picture: Any, into: list[int]) -> None:
        into.append(picture.pts)

    found: list[int] = []
    el.Pipeline(frames(3), partial(note, into=found)).run()
    assert found == [0, 1, 2]


def test_functions_declare_keyword_only_ones() -> None:
    with pytest.raises(TypeError, match="one parameter, the frame"):
        el.transform()(lambda: None)  # type: ignore[arg-type, misc]  # what is refused
    with pytest.raises(TypeError, match=r"\*\*rest has no types"):

        @el.transform()  # type: ignore[arg-type]  # what is refused
        def open_ended(frame: object, **rest: object) -> None: ...


def test_decorators_without_arguments() -> None:
    seen: list[int] = []

    @el.source
    def numbered() -> Iterator[Any]:
        yield from frames(3)

    @el.transform
    def other(picture: Any, *, left_out: int = 1) -> Any:
        return None if picture.planes[0].native[0, 0] == left_out else picture

    @el.inplace
    def note(picture: Any) -> None:
        picture.metadata["noted"] = True

    @el.sink
    def look(picture: Any) -> None:
        assert picture.metadata["noted"]
        seen.append(int(picture.planes[0].native[0, 0]))

    el.Pipeline(numbered(), other(left_out=0), note(), look()).run(threads=0)
    assert seen == [1, 2]


def test_a_pattern_in_place_of_the_function_is_refused() -> None:
    for decorator in (el.source, el.transform, el.inplace, el.sink):
        with pytest.raises(TypeError, match="name the argument"):
            decorator(el.Image("GRAY8"))  # type: ignore[call-overload]  # the test


def test_a_wrong_parameter_is_named_at_once_by_type_checkers_too() -> None:
    """A type: ignore that mypy does not need is an error of `dev.py lint`."""
    with pytest.raises(ParameterError, match="'by' must be an int"):
        add(by="7")  # type: ignore[arg-type]  # what is refused
    with pytest.raises(ParameterError, match="did you mean 'by'"):
        add(bye=7)  # type: ignore[call-arg]  # what is refused
    assert add(by=7).parameters == {"by": 7}
