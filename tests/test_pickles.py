# SPDX-License-Identifier: Apache-2.0
"""Pickles of elements, which go to other processes, and of the errors that come back from there."""

from __future__ import annotations

import importlib
import inspect
import pickle
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import samebytes as sb
import samebytes.elements as el
from devtools.workspace import DISTRIBUTIONS
from samebytes.errors import PluginError, SamebytesError

GIVEN: dict[str, Any] = {"format": "BGR", "matrix": (1, 0, 0, 0, 1, 0), "timeout": 0.2}
"""Parameters of elements; others that are required are "x", or 8."""
ANSWERS = {
    "Mapping": {"a": 1}, "Sequence": ["a", "b"], "Iterable": ["a", "b"], "tuple": (1, 0),
    "Exception": None, "int": 3, "float": 1.5,
}  # fmt: skip
"""Arguments by a word of what is annotated; others are texts."""


def _modules() -> Iterator[str]:
    yield "samebytes.errors"
    for distribution in DISTRIBUTIONS:
        for folder in (distribution.path / "src").iterdir():
            if folder.name.startswith("samebytes_"):
                yield folder.name


def _kinds(module: str) -> Iterator[type[SamebytesError]]:
    found = importlib.import_module(module)
    for name in getattr(found, "__all__", ()):
        if inspect.isclass(kind := getattr(found, name)) and issubclass(kind, SamebytesError):
            yield kind


def _made(kind: type[SamebytesError]) -> SamebytesError:
    given: list[Any] = []
    named: dict[str, Any] = {}
    for one in list(inspect.signature(kind).parameters.values()):
        annotated = str(one.annotation)
        value = next((v for word, v in ANSWERS.items() if word in annotated), f"a {one.name}")
        if one.kind is one.KEYWORD_ONLY:
            named[one.name] = value
        elif one.kind is not one.VAR_KEYWORD:
            given.append(value)
    return kind(*given, **named)


@pytest.mark.parametrize("module", list(_modules()))
def test_errors_cross_processes(module: str) -> None:
    """One that a worker raised, and which its pool cannot take apart, ends the pool."""
    try:
        kinds = list(_kinds(module))
    except ModuleNotFoundError as missing:
        pytest.skip(f"missing package {missing.name}")
    for kind in kinds:
        error = _made(kind)
        error.add_note("seen")
        twin = pickle.loads(pickle.dumps(error))
        assert type(twin) is kind
        assert str(twin) == str(error) != ""
        assert (twin.args, vars(twin)) == (error.args, vars(error))
        assert getattr(twin, "msg", None) == getattr(error, "msg", None)  # of an ImportError


def _derived(kind: type[Any]) -> type[Any]:
    """A class of a user, found here by its name, which has arguments and attributes of its own."""

    class Derived(kind):  # type: ignore[misc]  # of Any
        name = kind.name

        def __init__(self, arguments: dict[str, Any]) -> None:
            super().__init__(**arguments)
            self.noted = "by the user"

    Derived.__qualname__ = "Derived"
    globals()["Derived"] = Derived
    return Derived


@pytest.mark.parametrize("ran", [False, True])
@pytest.mark.parametrize("derived", [False, True])
@pytest.mark.parametrize("name", el.available())
def test_elements_cross_processes(
    name: str, derived: bool, ran: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An element that is not open is its attributes: actors and processes are given such."""
    monkeypatch.chdir(tmp_path)
    try:
        kind = el.element_class(name)
    except PluginError as error:
        pytest.skip(f"missing package of {name}: {error}")
    known = kind.declared_parameters()
    made: dict[str, Any] = {}
    made |= {one.name: 8 if one.type is int else "x" for one in known.values() if one.required}
    made |= {key: value for key, value in GIVEN.items() if key in known}
    element = _derived(kind)(made) if derived else el.create(name, **made)
    if ran:
        picture = sb.context("cpu").allocate_frame("RGB", 64, 48)
        items = [element] if isinstance(element, el.Source) else [[picture], element]
        with suppress(SamebytesError):  # of the addresses and models none is there
            el.Pipeline(*items).run()
    twin = pickle.loads(pickle.dumps(element))
    assert (type(twin), repr(twin)) == (type(element), repr(element))
    assert getattr(twin, "noted", "") == ("by the user" if derived else "")
