# SPDX-License-Identifier: Apache-2.0
"""`samebytes elements`: the installed elements, or one of them with its parameters."""

from __future__ import annotations

import argparse
import inspect
import json
import re
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from .._secrets import shown
from .table import print_table

if TYPE_CHECKING:
    from ..elements import Element, Parameter

__all__ = ["add_arguments", "run"]

_KINDS = ("Source", "Sink", "TransformInplace", "Transform")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="show this element, such as ffmpeg.source, which imports it",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the elements, or the one that was named."""
    from ..elements import available, element_class

    if options.name is None:
        found = available()
        if options.json:
            listed = [{"name": name, "summary": spec.summary} for name, spec in found.items()]
            print(json.dumps({"elements": listed}, indent=2))
        else:
            rows = [(name, spec.summary) for name, spec in found.items()]
            print_table(("element", "what it does"), rows)
        return 0
    described = _described(element_class(options.name))
    if options.json:
        print(json.dumps(described, indent=2))
    else:
        _print(described)
    return 0


def _described(cls: type[Element]) -> dict[str, Any]:
    """An element as plain data."""
    from .. import elements

    kind = next((one for one in _KINDS if issubclass(cls, getattr(elements, one))), "Element")
    return {
        "name": cls.name,
        "class": _public(cls),
        "kind": kind,
        "doc": inspect.getdoc(cls) or "",
        "takes": None if kind == "Source" else _patterns(cls.takes),
        "gives": None if kind == "Sink" else _patterns(cls.gives),
        "concurrent": _said(cls.concurrent),
        "one_stream": bool(_said(cls.one_stream)),
        "parameters": [_parameter(one) for one in cls.declared_parameters().values()],
    }


def _public(cls: type[Element]) -> str | None:
    """The name under which programs import the class; None if only `create` makes it."""
    package = cls.__module__.partition("._")[0]
    exported = getattr(sys.modules[package], cls.__name__, None) is cls
    return f"{package}.{cls.__name__}" if exported else None


def _patterns(declared: Any) -> list[str] | None:
    """The patterns in words, best first; None if they depend on the parameters."""
    if isinstance(declared, property):
        return None
    several = declared if isinstance(declared, tuple) else (declared,)
    return [str(one) for one in several]


def _said(value: Any) -> Any:
    return None if isinstance(value, property) else value


def _parameter(parameter: Parameter) -> dict[str, Any]:
    limits = parameter.range
    return {
        "name": parameter.name,
        "type": parameter.expected,
        "required": parameter.required,
        "default": None if parameter.required else shown(parameter.default),
        "minimum": None if limits is None else limits.minimum,
        "maximum": None if limits is None else limits.maximum,
        "choices": None if parameter.choices is None else [repr(c) for c in parameter.choices],
        "description": parameter.description,
    }


def _in_room(doc: str, room: int) -> str:
    """A docstring refilled to the width of a terminal; other indented paragraphs stay."""
    return "\n\n".join(_paragraph(part, room) for part in doc.split("\n\n"))


def _paragraph(part: str, room: int) -> str:
    if re.match(r"[A-Z]\w+:\n {4}\S", part):  # a section such as Raises
        head, *items = re.split(r"\n {4}(?=\S)", part)
        return "\n".join([head, *(_filled(item, room, "    ") for item in items)])
    return part if "\n " in part else textwrap.fill(part, room)


def _filled(text: str, room: int, before: str = "") -> str:
    """The lines of a text, the second and later ones indented further."""
    # A list such as NV12|I420|BGR is one word, which may be broken after each bar.
    broken = textwrap.fill(
        " ".join(text.split()).replace("|", "| "), room, initial_indent=before,
        subsequent_indent=before + "    ", break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return broken.replace("| ", "|")


def _print(found: dict[str, Any]) -> None:
    named = f", {found['class']}" if found["class"] else ""
    print(f"{found['name']}: a {found['kind']}{named}\n")
    room = min(shutil.get_terminal_size((100, 0)).columns, 100)
    print(f"{_in_room(found['doc'], room)}\n")
    for word in ("takes", "gives"):
        if word == "takes" and found["kind"] == "Source":
            continue
        if word == "gives" and found["kind"] == "Sink":
            continue
        patterns = found[word]
        said = "depends on its parameters" if patterns is None else ", or ".join(patterns)
        print(_filled(f"{word}: {said}", room))
    if found["concurrent"]:
        print("several threads may serve it: start(threads=N)")
    if found["one_stream"]:
        print("it takes the frames of one source")
    print()
    if not found["parameters"]:
        print("It has no parameters.")
        return
    for one in found["parameters"]:
        default = "must be given" if one["required"] else f"by default {one['default']}"
        print(f"{one['name']}: {one['type']}; {default}")
        if one["description"]:
            print(textwrap.indent(textwrap.fill(one["description"], room - 10), "    "))
