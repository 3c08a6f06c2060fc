# SPDX-License-Identifier: Apache-2.0
"""docs/reference/errors.md: every error message of the source, grouped by error class.

The remedies are written by hand in the page itself, and kept when the page is written again.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from devtools.results import Result
from devtools.workspace import DISTRIBUTIONS, ROOT, source_files

PAGE = ROOT / "docs" / "reference" / "errors.md"
# The trees of classes. `Refused` is not an error: an edge raises it to refuse an object, and
# NoRouteError shows the reason.
_ROOTS = ("SamebytesError", "Refused", "SoftDeviceError", "DemoError")
_REMEDY = re.compile(r"^## (\w+)[^#]*?^\*\*Remedy:\*\* (.+)$", re.MULTILINE)
# A part of a message that is not text: a value, punctuation, or a code.
_NO_TEXT = re.compile(r"\{[^{}]*\}|\W*|\d+|None")
_HEAD = """\
# Errors

Written by `python3 dev.py errors` from the source; on this page, edit only the remedies.

All errors that samebytes raises on purpose are subclasses of `samebytes.errors.SamebytesError`.
Most classes are in `samebytes.errors`, some in the package of a backend. A message names what was
wrong and, where there is one, the remedy. Below are the messages of each class, by distribution.
`{...}` stands for a value that is filled in when the error is raised, and ` ... ` between the parts
that a class puts together.
"""


class ErrorClass(NamedTuple):
    """A class of errors: its base's name, and the first paragraph of its docstring."""

    base: str
    summary: str


class Errors:
    """The error classes, by name, each after its base, and the messages by class and distribution.

    Args:
        sources: the modules of each distribution.
    """

    def __init__(self, sources: Mapping[str, list[ast.Module]]) -> None:
        every = {
            node.name: ErrorClass(_name(node.bases[0]) if node.bases else "", _summary(node))
            for modules in sources.values()
            for module in modules
            for node in ast.walk(module)
            if isinstance(node, ast.ClassDef)
        }
        self.classes: dict[str, ErrorClass] = {}
        for root in _ROOTS:
            self._add(root, every)
        found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for distribution, modules in sources.items():
            for module in modules:
                constants = _constants(module)
                for call in (node for node in ast.walk(module) if isinstance(node, ast.Call)):
                    name = _name(call.func)
                    if name in self.classes and (text := _message(call, constants)):
                        found[name][distribution].add(text)
        self.messages = found

    def _add(self, name: str, every: Mapping[str, ErrorClass]) -> None:
        if name in every:
            self.classes[name] = every[name]
        for child in sorted(every):
            if every[child].base == name:
                self._add(child, every)


@cache
def errors() -> Errors:
    """The errors of this repository."""
    return Errors(
        {
            d.name: [ast.parse(p.read_text()) for p in source_files(".py", below=d.path / "src")]
            for d in DISTRIBUTIONS
        }
    )


def page(before: str) -> str:
    """The text of the page, with the remedies of the page `before`.

    A class without a remedy gets that of its base.
    """
    every, remedies = errors(), dict(_REMEDY.findall(before))
    parts = [_HEAD]
    for name, found in every.classes.items():
        remedy = remedies.setdefault(name, remedies.get(found.base, "Read the message."))
        bases = f" ({found.base})" if found.base in every.classes else ""
        parts.append(f"## {name}{bases}\n\n{found.summary}\n\n**Remedy:** {remedy}\n")
        for distribution, texts in every.messages.get(name, {}).items():
            lines = "\n".join(sorted(texts, key=lambda text: (text.lower(), text)))
            parts.append(f"{distribution}:\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


def write() -> list[Result]:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text()))
    return [Result("errors", True, str(PAGE))]


def _message(call: ast.Call, constants: Mapping[str, str]) -> str:
    """The texts of one call and the marks between them; "" if it has no text of its own."""
    given = [_text(argument, constants) for argument in call.args]
    given += [_text(k.value, constants) for k in call.keywords]
    return " ... ".join(text for text in given if not _NO_TEXT.fullmatch(text)).strip()


def _constants(module: ast.Module) -> dict[str, str]:
    """The module's constants that are texts."""
    return {
        target.id: node.value.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _text(node: ast.expr, constants: Mapping[str, str]) -> str:
    """The text of an expression, with `{...}` for values known only at run time."""
    match node:
        case ast.Constant(value=value):
            return str(value)
        case ast.Name(id=name) if name in constants:
            return constants[name]
        case ast.FormattedValue(value=value):
            return _text(value, constants)
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, constants) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right) if any(_strings(node)):
            return _text(left, constants) + _text(right, constants)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return ", ".join(_text(item, constants) for item in items)
        case ast.Call(func=ast.Name(id="counted"), args=[number, noun]):
            return f"{_text(number, constants)} {_text(noun, constants)}s"
    return "{" + _placeholder(node) + "}"


def _strings(sum_: ast.BinOp) -> Iterator[ast.AST]:
    """The texts among the operands of a sum."""
    for node in (sum_.left, sum_.right):
        if isinstance(node, ast.BinOp):
            yield from _strings(node)
        elif isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        ):
            yield node


def _placeholder(node: ast.expr) -> str:
    """A short name of a value."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return "type" if name in ("__name__", "__qualname__") else name.strip("_")
        case ast.Call(args=[of, *_]):  # str(x), len(x), ', '.join(x): of x
            return _placeholder(of)
        case ast.Call(func=ast.Attribute(value=of, attr="strip" | "type_name")):
            return _placeholder(of)
        case ast.Call(func=of):
            return _placeholder(of)
    return "..."


def _name(node: ast.expr) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _summary(node: ast.ClassDef) -> str:
    text = ast.get_docstring(node) or ""
    return " ".join(text.partition("\n\n")[0].split())
