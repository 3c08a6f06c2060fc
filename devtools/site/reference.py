# SPDX-License-Identifier: Apache-2.0
"""The public names of all distributions, the pages that show them, and what their docstrings lack.

Everything is read from the source, as mkdocstrings reads it; nothing is imported.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import griffe

from devtools.site.docstrings import lacking, unexplained
from devtools.workspace import DISTRIBUTIONS, ROOT, source_files

PAGES = ROOT / "docs" / "reference" / "api"
# Names of samebytes itself are not shown again where plugins import them.
_LAST = ("samebytes.plugins", "samebytes.testing")
# Nobody imports the demo, and each rule is a function that the rule book lists.
_NOT_SHOWN = ("samebytes_demo", "samebytes.testing.rules.")
_DIRECTIVE = re.compile(r"^::: ([\w.]+)$(?:\n +\S.*)*", re.MULTILINE)
_INHERITED = re.compile(r"inherited_members: \[([\w, ]*)\]")
# Its suites inherit hundreds of tests that the rule book lists.
_SUITES = "samebytes.testing."
# pytest calls these by name, with the values of their fixtures.
_CALLED_BY_PYTEST = re.compile(r"test_|pytest_")


@dataclass(frozen=True)
class Name:
    """A public name: the module from which users import it, and the object."""

    path: str
    object: griffe.Object


def complaints(pages: Path = PAGES) -> list[str]:
    """The disagreements between `__all__`, the docstrings and the pages below `pages`."""
    names = public_names()
    return [*_of_pages(names, directives(pages)), *_of_docstrings(names)]


def public_names() -> list[Name]:
    """One Name for each object that public modules export, under the first of these modules."""
    loader = _loader()
    found: dict[str, Name] = {}
    for module in modules():
        package = loader.modules_collection[module]
        for exported in package.exports or ():
            member = package.members.get(str(exported))
            if member is None or str(exported) == "__version__":
                continue
            target = _target(member)
            # Another public module has its own names.
            if not target.is_module:
                found.setdefault(target.canonical_path, Name(f"{module}.{exported}", target))
    return list(found.values())


@cache
def modules() -> list[str]:
    """The modules with `__all__` and without an underscore; those that document a name first."""
    found = set()
    for folder in (d.path / "src" for d in DISTRIBUTIONS):
        for file in source_files(".py", below=folder):
            place = file.relative_to(folder).with_suffix("")
            parts = place.parts[:-1] if place.name == "__init__" else place.parts
            if (
                not any(part.startswith("_") for part in parts)
                and "__all__ = [" in file.read_text()
            ):
                found.add(".".join(parts))
    shown = (name for name in found if not name.startswith(_NOT_SHOWN))
    return sorted(shown, key=lambda name: (name.startswith(_LAST), name))


def directives(pages: Path = PAGES) -> list[tuple[str, str, set[str]]]:
    """(page, name, members of its bases) of each name that a page shows."""
    return [
        (page.relative_to(pages).as_posix(), found[1], _inherited_in(found[0]))
        for page in sorted(pages.glob("*.md"))
        for found in _DIRECTIVE.finditer(page.read_text())
    ]


def _inherited_in(directive: str) -> set[str]:
    found = _INHERITED.search(directive)
    return {name.strip() for name in found[1].split(",")} if found else set()


def _of_pages(names: list[Name], shown: list[tuple[str, str, set[str]]]) -> Iterator[str]:
    places: dict[str, list[str]] = {}
    inherited = {path: members for _, path, members in shown}
    for page, path, _ in shown:
        places.setdefault(path, []).append(page)
    for name in names:
        if name.path not in places:
            yield f"{name.path} is on no page of docs/reference/api: add `::: {name.path}`"
        elif (hidden := set(_from_private_bases(name, names))) != inherited[name.path]:
            wanted = f"inherited_members: [{', '.join(sorted(hidden))}]"
            yield f"{name.path} has members of bases that are not public: {wanted}"
    for path, pages in places.items():
        if len(pages) > 1:
            yield f"{path} is on several pages: {', '.join(pages)}"
    known = {name.path for name in names}
    for page, shown_path, _ in shown:
        if shown_path not in known:
            yield f"{page} shows {shown_path}, which is not public, or has another name first"


def _of_docstrings(names: list[Name]) -> Iterator[str]:
    for name in names:
        if not name.object.docstring:
            yield f"{name.path} has no docstring"
        if isinstance(name.object, griffe.Class):
            yield from (
                f"{name.path}.{each} is explained nowhere" for each in unexplained(name.object)
            )
        for path, function in _functions(name, names):
            yield from (f"{path}: {lack}" for lack in lacking(function))


def _functions(name: Name, names: list[Name]) -> Iterator[tuple[str, griffe.Function]]:
    """The function itself, or the public methods of a class."""
    if isinstance(name.object, griffe.Function):
        yield name.path, name.object
    if isinstance(name.object, griffe.Class):
        members = [*name.object.members.values(), *_from_private_bases(name, names).values()]
        for member in members:
            if (
                isinstance(member, griffe.Function)
                and not member.name.startswith("_")
                and not _CALLED_BY_PYTEST.match(member.name)
            ):
                yield f"{name.path}.{member.name}", member


def _from_private_bases(name: Name, names: list[Name]) -> dict[str, griffe.Object]:
    """The public members that a class inherits from bases that no page shows."""
    if not isinstance(name.object, griffe.Class) or name.path.startswith(_SUITES):
        return {}
    public = {each.object.canonical_path for each in names}
    bases = name.object.mro()
    shown = {c.canonical_path for b in bases if b.canonical_path in public for c in (b, *b.mro())}
    found: dict[str, griffe.Object] = {}
    for base in bases:
        if base.canonical_path not in shown and base.canonical_path.startswith("samebytes"):
            for member in base.members.values():
                hidden = member.name.startswith("_") or member.is_alias or not member.docstring
                if not hidden and member.name not in name.object.members:
                    found.setdefault(member.name, member)
    return found


@cache
def _loader() -> griffe.GriffeLoader:
    loader = griffe.GriffeLoader(
        search_paths=[str(d.path / "src") for d in DISTRIBUTIONS],
        docstring_parser=griffe.Parser.google,
        docstring_options={"warnings": False},
    )
    for package in dict.fromkeys(module.partition(".")[0] for module in modules()):
        loader.load(package)
    loader.resolve_aliases(implicit=False, external=False)
    return loader


def _target(member: griffe.Object | griffe.Alias) -> griffe.Object:
    return member.final_target if isinstance(member, griffe.Alias) else member
