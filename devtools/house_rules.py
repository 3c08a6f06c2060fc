# SPDX-License-Identifier: Apache-2.0
"""All static checks of the repository: ruff, mypy, and rules that no linter knows.

Most of these are expressions that no line of some files may have. Locks of the standard library and
files without the licence are refused by ruff (TID251 and CPY001, in pyproject.toml).
"""

import ast
import re
import sys
from collections.abc import Callable, Collection, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from devtools.results import Result
from devtools.venv import PYTHON
from devtools.workspace import DISTRIBUTIONS, ROOT, run, source_files

# The names that docs/reference/plugin-api.md lists for subclasses.
_OF_SUBCLASSES = frozenset(
    ["_describe", "_handle", "_make_planes", "_planes_moved", "_planes_over", "_release"]
)
# Names of named tuples, the standard library and dpctl.
_OF_LIBRARIES = frozenset(
    [
        *("_SubParsersAction", "_actions", "_asdict", "_at_fork_reinit", "_exit", "_fields"),
        *("_fmt", "_getframe", "_is_owned", "_make", "_Pointer", "_pointer", "_replace"),
        "_sycl_queue_manager",
    ]
)
_DEFAULT_SIGNALS = "default_signals"
# These files have the phrases in order to find them, or quote an earlier release.
_QUOTES_PHRASES = ("CHANGELOG.md", "devtools/house_rules.py", "devtools/tests/test_house_rules.py")


class LineRule(NamedTuple):
    """Text that no line of some files may have.

    Attributes:
        pattern: a regular expression for it.
        instead: the reason, or what to write instead.
        of: returns True for the files of the rule, by their paths below the root.
        unless: a word that exempts a file in which it stands.
    """

    pattern: str
    instead: str
    of: Callable[[Path], bool]
    unless: str = "\0"


def _is_python(path: Path) -> bool:
    return path.suffix == ".py"


def _is_test(path: Path) -> bool:
    return path.name.startswith("test_") and _is_python(path)


def _is_source(path: Path) -> bool:
    return "src" in path.parts and _is_python(path)


def _uses_the_core(path: Path) -> bool:
    return _is_source(path) and not path.is_relative_to("contrib/softdevices")


def _is_prose(path: Path) -> bool:
    return path.as_posix() not in _QUOTES_PHRASES


_RULES = (
    LineRule(
        # Libraries have child processes of their own, such as openvino's telemetry. Scripts in
        # strings, which tests run, are read too.
        r"\bos\.(wait3?\(|waitpid\(-1|wait4\(-1|waitid\(os\.P_ALL)",
        "it may get a library's child: os.waitpid(child, ...)",
        _is_python,
    ),
    LineRule(
        # Processes that nohup or a shell starts in the background ignore some of these.
        r"\bsignal\.SIG(HUP|INT|QUIT|TERM)\b|\bkill -(HUP|INT|QUIT|TERM)\b",
        f"it may be ignored here; use the fixture {_DEFAULT_SIGNALS}",
        _is_test,
        unless=_DEFAULT_SIGNALS,
    ),
    LineRule(
        # It makes tuples, and at each the garbage collector may run.
        r"\b(list|tuple)\((self\.)?_[\w.]*\.items\(\)\)",
        "it fails if a finalizer changes the table: use copy().items()",
        _uses_the_core,
    ),
    LineRule(
        r"\bCondition\(\)",
        "a Condition without a lock of the core's: use samebytes.plugins.Lock",
        _uses_the_core,
    ),
    LineRule(
        r'"""\s*(How|That|Those|What|Whatever|When|Where|Whether|Which|Who|Whose|Why)\b',
        'open it with a noun or a verb: "Return ...", "A ...", "True if ..."',
        _is_python,
    ),
)
# Phrases that this project once used and that are not plain English, in names too.
# "there is no device" and "is no longer open" are fine.
_USUAL = "longer|more|such|other|reason|failure|larger"
_PHRASES = tuple(
    LineRule(pattern, f"write {instead}", _is_prose)
    for pattern, instead in (
        (rf"(?<!here )\b(is|are|was|were) no (?!({_USUAL})\b)(?=\w)", '"is not a ..."'),
        (r"\b(is|are|was|were) no more\b(?! than)", '"is gone" or "no longer ..."'),
        (r"\bcame along\b", '"received"'),
        (r"\banew\b", '"again" or "new"'),
        (r"\bfor ever\b", '"forever"'),
        (r"\blet(s|ting)? go (of|at)\b|\b(is|are|was|were|been) let go\b", '"release" or "drop"'),
        (r"\bmend(s|ed|ing)\b|\bto mend\b", '"fix"'),
        (r"\b(tells|told)\b(?!.*\bapart\b)", '"report", "say" or "pass"'),
        (r"\bstrangers?\b", '"another process", "an untrusted sender"'),
    )
)
_SUFFIXES = (".py", ".md", ".c", ".h", ".tmpl")


def lint() -> Result:
    """Run every check, even if others fail, and name those that failed."""
    typed = [d.folder for d in DISTRIBUTIONS] + ["dev.py", "devtools", "tests"]
    checks = {
        "ruff check": lambda: run([PYTHON, "-m", "ruff", "check", "."]),
        "ruff format": lambda: run([PYTHON, "-m", "ruff", "format", "--check", "."]),
        "mypy": lambda: run([PYTHON, "-m", "mypy", *(t for t in typed if (ROOT / t).exists())]),
        "house rules": _shown,
    }
    failed = [name for name, check in checks.items() if check()]
    return Result("lint", not failed, ", ".join(failed) + " failed" if failed else "no complaints")


def _shown() -> int:
    found = complaints()
    print("\n".join(found), file=sys.stderr)
    return len(found)


def complaints() -> list[str]:
    """Every broken rule in the repository, as `path:line: what is wrong`."""
    found = []
    for file in source_files(*_SUFFIXES):
        path, text = file.relative_to(ROOT), file.read_text()
        found += [f"{path}:{complaint}" for complaint in check_lines(path, text)]
        owner = next((d for d in DISTRIBUTIONS if file.is_relative_to(d.path)), None)
        if _is_python(path):
            found += [
                f"{path}:{c}" for c in check_imports(text, _package(owner.name) if owner else None)
            ]
        if _is_python(path) and "tests" not in path.parts:
            own = _defined_by(owner.path) if owner else set(defined_in(ast.parse(text)))
            found += [f"{path}:{c}" for c in check_attributes(text, own)]
    return found


def check_lines(path: Path, text: str) -> Iterator[str]:
    """The lines of one file that break a rule about lines, as `line: what to write`."""
    for rules, words in ((_RULES, text), (_PHRASES, text.replace("_", " "))):
        for rule in rules:
            if rule.of(path) and rule.unless not in text:
                for found in re.finditer(rule.pattern, words, re.MULTILINE):
                    number = words.count("\n", 0, found.start()) + 1
                    yield f"{number}: {found[0].strip()!r}: {rule.instead}"


def check_imports(text: str, owner: str | None) -> list[str]:
    """Only public names of other distributions are imported.

    `owner` is the import name of the distribution that the text belongs to, None for none.
    """
    packages = {_package(d.name) for d in DISTRIBUTIONS} - {owner}
    return [
        f"{line}: {module} is private to {module.split('.')[0]}"
        for line, module in imports(text)
        if module.split(".")[0] in packages and is_private(module)
    ]


def check_attributes(text: str, own: Collection[str]) -> list[str]:
    """Only public attributes of other distributions' objects are used.

    The class of an object is unknown here, so the name decides: the `own` distribution or a library
    must define it. Of `self`, a subclass may use the names that the plugin API lets it override or
    call.
    """
    return [
        f"{node.lineno}: .{node.attr} is private to another distribution"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and is_private(node.attr)
        if node.attr not in own and node.attr not in _OF_LIBRARIES
        if not (node.attr in _OF_SUBCLASSES and _is_self(node.value))
    ]


def imports(text: str) -> list[tuple[int, str]]:
    """The lines and names of the modules that a text imports, and of the names from them."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [(node.lineno, f"{node.module}.{name.name}") for name in node.names]
    return found


@cache
def _defined_by(folder: Path) -> frozenset[str]:
    files = (folder / "src").rglob("*.py")
    return frozenset(n for f in files for n in defined_in(ast.parse(f.read_text())))


def defined_in(tree: ast.AST) -> Iterator[str]:
    """The names of the members of classes: methods, variables, slots, attributes of `self`."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(body=body):
                for part in body:
                    yield from _of_class(part)
            case ast.Attribute(value=value, attr=name, ctx=ast.Store()) if _is_self(value):
                yield name


def _of_class(part: ast.stmt) -> Iterator[str]:
    match part:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Assign(targets=targets, value=value):
            yield from (each.id for each in targets if isinstance(each, ast.Name))
            yield from (str(n.value) for n in ast.walk(value) if isinstance(n, ast.Constant))


def _is_self(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def is_private(module: str) -> bool:
    """True if a part of a dotted name begins with an underscore, and is not one of Python's."""
    return any(part.startswith("_") and not part.endswith("__") for part in module.split("."))


def _package(name: str) -> str:
    return name.replace("-", "_")
