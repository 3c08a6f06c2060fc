# SPDX-License-Identifier: Apache-2.0
"""Checks that the docstrings of public functions and classes are complete."""

import ast
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import griffe

# A subclass repeats its base's text only where it differs.
_ABSTRACT = "NotImplementedError"
# The first words of a summary that names the result.
_NAMING = re.compile(
    r"(A|All|An|As|Both|Bytes|Each|Elements|Every|For|Function|Images|In|Its|Layouts|New|None|One"
    r"|Properties|Return|Rows|Shapes|The|This|True|Two|Whole|[^A-Z].*)"
)
# A summary that sends its reader to another method of the class.
_AS = re.compile(r"As `(\w+)\(")
# Parameters with these names have an owner.
_NATIVE = re.compile(r"(\w+_)?(fd|handle|pointer|display|queue|native)")
_OWNED = re.compile(
    r"\b(keep|kept|held|hold|own|stay|clos(e|ing)|caller|duplicate|lent|borrow|release|freed?|alive"
    r"|yours|take|taken|user's|reference|retain)"
)
# Parameters with these names are counted in one of these units.
_UNITS = {
    re.compile(r"timeout|interval|patience"): ("second",),
    re.compile(r"nbytes|offset|pitch(es)?$|alignment"): ("byte",),
    re.compile(r"(width|height)$"): ("pixel", "element", "sample"),
}


def lacking(function: griffe.Function) -> list[str]:
    """The facts that the docstring of a function should state but does not."""
    if function.docstring is None:
        return [] if _inherited(function) else ["no docstring"]
    sections = {s.kind: s.value for s in function.docstring.parsed}
    found = []
    explained = _explained(sections)
    parameters = {p.name for p in function.parameters} - {"self", "cls"}
    inherited = _inherited(function)
    if inherited is not None:
        base = {s.kind: s.value for s in inherited.docstring.parsed}
        explained |= _explained(base) | {p.name for p in inherited.parameters}
    if missing := sorted(parameters - explained):
        found.append(f"Args lacks {', '.join(missing)}")
    raised = _raised(function)
    documented = sections.get(griffe.DocstringSectionKind.raises)
    if inherited is None:
        if raised and documented is None:
            found.append(f"no Raises, but it raises {', '.join(sorted(raised))}")
        if not _says_what_it_returns(function, sections):
            found.append(f"no Returns, and {_first(function)!r} does not say what it returns")
    if documented is not None:
        named = " ".join(str(each.annotation) for each in documented)
        if missing := sorted(each for each in raised if each not in named):
            found.append(f"Raises lacks {', '.join(missing)}")
    return [*found, *_unsaid(function, sections)]


def _says_what_it_returns(function: griffe.Function, sections: dict[Any, Any]) -> bool:
    """True if a section, or a summary that names the result ("The tensors of ..."), says so.

    A summary such as "Open a device" says what is done, not what is returned.
    """
    kinds = griffe.DocstringSectionKind
    nothing = function.returns is None or str(function.returns) in ("None", "NoReturn")
    if nothing or kinds.returns in sections or kinds.yields in sections:
        return True
    first = _first(function)
    return bool(_NAMING.fullmatch(re.split(r"[\s.,:;]", first)[0])) or "return" in first


def _first(function: griffe.Function) -> str:
    """The first sentences of a docstring, as one line."""
    return " ".join(_text(function).partition("\n\n")[0].split())


def _unsaid(function: griffe.Function, sections: dict[Any, Any]) -> Iterator[str]:
    """The times, sizes and places without a unit, and native things without an owner."""
    whole = _text(function)
    words = set(re.findall(r"\w+", whole.lower()))
    for parameter in sections.get(griffe.DocstringSectionKind.parameters, ()):
        # Parameters that another method explains need no explanation here.
        elsewhere = re.search(r"\bas (of|for) `", parameter.description)
        measured = str(parameter.annotation) != "bool" and not elsewhere
        for name in (name.strip(" *") for name in parameter.name.split(",")):
            for pattern, units in _UNITS.items() if measured else ():
                if pattern.match(name) and not words & {*units, *(f"{unit}s" for unit in units)}:
                    yield f"{name} has no unit: {' or '.join(f'{unit}s' for unit in units)}"
            if _NATIVE.fullmatch(name) and not _OWNED.search(whole):
                yield f"{name} may be held, taken over or only looked at: it is not said which"


def _explained(sections: dict[Any, Any]) -> set[str]:
    """The parameters that a docstring explains; several may share a line: `x, y: ...`."""
    parameters = sections.get(griffe.DocstringSectionKind.parameters, ())
    return {name.strip(" *") for p in parameters for name in p.name.split(",")}


def _inherited(function: griffe.Function) -> griffe.Function | None:
    """The method with a docstring that this one overrides, or refers to."""
    owner = function.parent
    if not isinstance(owner, griffe.Class):
        return None
    like = _AS.match(_text(function))
    if like and isinstance(other := owner.members.get(like[1]), griffe.Function):
        explains = other.docstring and not _AS.match(_text(other))
        return other if explains else None
    for base in owner.mro():
        member = base.members.get(function.name)
        if isinstance(member, griffe.Function) and member.docstring:
            return member
    return None


def _raised(function: griffe.Function) -> set[str]:
    """The classes of errors that the body raises itself and that no `try` around it catches."""
    found: set[str] = set()
    body = ast.parse(textwrap.dedent(function.source)).body[0].body  # type: ignore[attr-defined]  # a function
    waiting: list[tuple[ast.AST, str]] = [(node, "") for node in body]
    while waiting:
        node, caught = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            called = ast.unparse(node.exc.func).rpartition(".")[2]
            # A constant is a tuple of classes.
            guarded = re.search(rf"\b({called}|Exception|[A-Z_]+)\b", caught)
            if called != _ABSTRACT and called[:1].isupper() and not guarded:
                found.add(called)
        handlers = node.handlers if isinstance(node, ast.Try) else ()
        named = " ".join(ast.unparse(each.type) for each in handlers if each.type)
        tried = node.body if isinstance(node, ast.Try) else ()
        waiting += [
            (child, f"{caught} {named}" if child in tried else caught)
            for child in ast.iter_child_nodes(node)
        ]
    return found


def unexplained(class_: griffe.Class) -> list[str]:
    """The public properties and attributes that no docstring of the class or its bases names.

    The parameters of an element are left out, since its annotations explain them on a page of their
    own. So are the `args` of an exception.
    """
    lines = (class_, *class_.mro())
    element = any(each.name == "Element" for each in lines)
    said = " ".join(_text(each) for each in lines)
    found = []
    for name, member in class_.members.items():
        given = name == "args" or (element and "property" not in member.labels)
        if name.startswith("_") or member.is_alias or not member.is_attribute or given:
            continue
        own = any(name in each.members and each.members[name].docstring for each in lines)
        if not own and not re.search(rf"\b{name}\b", said):
            found.append(name)
    return found


def _text(found: Any) -> str:
    return str(found.docstring.value) if found.docstring else ""
