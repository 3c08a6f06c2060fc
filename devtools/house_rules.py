# SPDX-License-Identifier: Apache-2.0
"""Rules of this repository that no linter knows.

Most of them are expressions that no line of some files may have. Locks of the standard
library are refused by ruff (TID251, in pyproject.toml).
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from devtools.openings import complaints_about_openings
from devtools.workspace import DISTRIBUTIONS, ROOT, source_files

# It uses nothing of samebytes.
_WITHOUT_THE_CORE = "samebytes_softdevices"
# What docs/reference/plugin-api.md lists for subclasses.
_OF_SUBCLASSES = frozenset(
    [
        "_describe",
        "_handle",
        "_make_planes",
        "_planes_moved",
        "_planes_over",
        "_release",
    ]
)
_NAMEDTUPLE = frozenset(["_asdict", "_field_defaults", "_fields", "_make", "_replace"])
# They cannot use lazy_exports: the first gets all its names from one module that needs pytest, and
# the other uses nothing of samebytes.
_OWN_GETATTR = (
    "sdk/src/samebytes/testing/__init__.py",
    "contrib/softdevices/src/samebytes_softdevices/__init__.py",
)
# Where the calls between would show in what wrapping and mapping cost: the core, its own backend,
# and the frames of FFmpeg's decoders.
_BY_POSITION = (
    "sdk/src/samebytes/_core",
    "sdk/src/samebytes/_cpu",
    "backends/ffmpeg/src/samebytes_ffmpeg/_frame.py",
)
_OBJECTS = re.compile(r"(Tensor|Frame|tensor_class|frame_class)$")
# Of both: native, context, owner, parent, readonly.
_POSITIONAL = 5
_LICENCE = re.compile(r"(#!.*\n)?# SPDX-License-Identifier: Apache-2\.0$", re.MULTILINE)
_DEFAULT_SIGNALS = "default_signals"
# These have the phrases in order to find them, or quote what was once released.
_QUOTES_PHRASES = ("CHANGELOG.md", "devtools/house_rules.py", "devtools/tests/test_house_rules.py")


class LineRule(NamedTuple):
    """Text that no line of some files may have.

    Attributes:
        pattern: an expression for it.
        instead: why not, or what to write.
        of: true for the files of the rule, by their paths below the root.
        unless: a word that says, anywhere in a file, that it may have it.
    """

    pattern: str
    instead: str
    of: Callable[[Path], bool]
    unless: str = "\0"


def _is_python(path: Path) -> bool:
    return path.suffix == ".py"


def _is_test(path: Path) -> bool:
    return path.name.startswith("test_") and _is_python(path)


def _is_source(path: Path, but: tuple[str, ...] = ()) -> bool:
    """True if a file is part of a distribution, and neither one of `but` nor in one of them."""
    inside = "src" in path.parts and _is_python(path)
    return inside and not any(path.is_relative_to(each) for each in but)


def _is_of_the_product(path: Path) -> bool:
    return _is_source(path, ("contrib/softdevices",))


def _is_prose(path: Path) -> bool:
    return path.as_posix() not in _QUOTES_PHRASES


_RULES = (
    LineRule(
        # Libraries have children of their own (openvino's telemetry is one). Scripts that tests
        # run, which are strings, are read too.
        r"\bos\.(wait3?\(|waitpid\(-1|wait4\(-1|waitid\(os\.P_ALL)",
        "it may get a library's child: os.waitpid(child, ...)",
        _is_python,
    ),
    LineRule(
        # nohup, and a shell for what it starts in the background, ignore some of these.
        r"\bsignal\.SIG(HUP|INT|QUIT|TERM)\b|\bkill -(HUP|INT|QUIT|TERM)\b",
        f"it may be ignored here; use the fixture {_DEFAULT_SIGNALS}",
        _is_test,
        unless=_DEFAULT_SIGNALS,
    ),
    LineRule(
        # It makes tuples, and the garbage collector may run at each.
        r"\b(list|tuple)\((self\.)?_[\w.]*\.items\(\)\)",
        "it fails if a finalizer changes the table: use copy().items()",
        _is_of_the_product,
    ),
    LineRule(
        r"\bCondition\(\)",
        "a Condition without a lock of the core's: use samebytes.plugins.Lock",
        _is_of_the_product,
    ),
    LineRule(
        # The core makes such commands work until the packages are published, but not here.
        r"pip install (?:-[\w-]+ )*[\\\"']*samebytes",
        "this command does not work until the packages are published",
        lambda path: _is_source(path) and path.is_relative_to("contrib/softdevices"),
    ),
    LineRule(
        r"^( {4})?def __getattr__\((?!self\b)",
        "a module's own __getattr__: use samebytes.plugins.lazy_exports",
        lambda path: _is_source(path, _OWN_GETATTR),
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


def complaints() -> list[str]:
    """Every broken rule in the repository, as `path:line: what is wrong`."""
    found = []
    for file in source_files(*_SUFFIXES):
        path, text = file.relative_to(ROOT), file.read_text()
        found += [f"{path}:{complaint}" for complaint in check_lines(path, text)]
        if _is_python(path):
            found += [f"{path}:{complaint}" for complaint in _check(path, text)]
    return [*found, *complaints_about_openings()]


def check_lines(path: Path, text: str) -> Iterator[str]:
    """The lines of one file that break a rule about lines, as `line: what to write`."""
    for rules, words in ((_RULES, text), (_PHRASES, text.replace("_", " "))):
        for rule in rules:
            if rule.of(path) and rule.unless not in text:
                for found in re.finditer(rule.pattern, words, re.MULTILINE):
                    number = words.count("\n", 0, found.start()) + 1
                    yield f"{number}: {found[0].strip()!r}: {rule.instead}"


def _check(path: Path, text: str) -> Iterator[str]:
    file = ROOT / path
    owner = next((_package(d.name) for d in DISTRIBUTIONS if file.is_relative_to(d.path)), None)
    yield from check_licence(text)
    yield from check_imports(text, owner)
    if "tests" not in path.parts:
        yield from check_attributes(text, owner, _private_attributes())
    if _is_source(path, _BY_POSITION):
        yield from check_constructors(text)


def check_licence(text: str) -> Iterator[str]:
    """The licence line comes first, or right after a `#!` line."""
    if not _LICENCE.match(text):
        yield "1: the first line must be `# SPDX-License-Identifier: Apache-2.0`"


def check_imports(text: str, owner: str | None) -> list[str]:
    """Only public names of other distributions are imported.

    `owner` is the import name of the distribution that the text belongs to, None for none.
    """
    packages = {_package(d.name) for d in DISTRIBUTIONS} - {owner}
    return [
        f"{line}: {module} is private to {module.split('.')[0]}"
        for line, module in _imports(text)
        if module.split(".")[0] in packages and _is_private(module)
    ]


def check_attributes(
    text: str, owner: str | None, private: Mapping[str, frozenset[str]]
) -> list[str]:
    """Only public attributes of other distributions' objects are used, outside of tests.

    What an object is cannot be seen here. So the name decides: it must not be one that the core or
    a distribution named in the text defines, unless the text's own one defines it too. Of `self`,
    a subclass may use what the plugin API lets it override or call.

    `private` has the private attributes that each distribution defines, by its import name.
    """
    tree = ast.parse(text)
    own = private.get(owner or "", frozenset()) | _defined_in(tree)
    others = [name for name in private if name == "samebytes" or re.search(rf"\b{name}\b", text)]
    complaints = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not _is_private(node.attr) or node.attr in own:
            continue
        if node.attr in _NAMEDTUPLE or (node.attr in _OF_SUBCLASSES and _is_self(node.value)):
            continue
        homes = [home for home in others if node.attr in private[home]]
        if homes:
            complaints.append(f"{node.lineno}: .{node.attr} is private to {' and '.join(homes)}")
    return complaints


def check_constructors(text: str) -> list[str]:
    """Tensors and frames are made by `borrowed` and `owned`, which say whose the memory is.

    The constructors of both are what the core calls for each mapping.
    """
    tree = ast.parse(text)
    complaints = []
    for class_ in [None, *(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef))]:
        is_object = class_ is not None and any(
            _OBJECTS.search(ast.unparse(base).partition("[")[0]) for base in class_.bases
        )
        for node in ast.walk(class_ or tree):
            if not isinstance(node, ast.Call) or len(node.args) < _POSITIONAL:
                continue
            called = ast.unparse(node.func)
            if (is_object and called == "cls") or (class_ is None and _OBJECTS.search(called)):
                complaints.append(
                    f"{node.lineno}: {called}() by position: use borrowed() or owned()"
                )
    return complaints


def _imports(text: str) -> list[tuple[int, str]]:
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [(node.lineno, f"{node.module}.{name.name}") for name in node.names]
    return found


@cache
def _private_attributes() -> dict[str, frozenset[str]]:
    """The private attributes that classes of each distribution define, by its import name."""
    return {
        _package(d.name): frozenset().union(
            *(_defined_in(ast.parse(path.read_text())) for path in (d.path / "src").rglob("*.py"))
        )
        for d in DISTRIBUTIONS
    }


def _defined_in(tree: ast.AST) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    found.add(part.name)
                elif isinstance(part, ast.AnnAssign):
                    found.update(n.id for n in [part.target] if isinstance(n, ast.Name))
                elif isinstance(part, ast.Assign):
                    found.update(n.id for n in part.targets if isinstance(n, ast.Name))
                    found.update(_slots(part))
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and _is_self(node.value)
        ):
            found.add(node.attr)
    return frozenset(name for name in found if _is_private(name))


def _slots(assignment: ast.Assign) -> list[str]:
    if not any(isinstance(n, ast.Name) and n.id == "__slots__" for n in assignment.targets):
        return []
    parts = ast.walk(assignment.value)
    return [n.value for n in parts if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def _is_self(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _is_private(module: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in module.split("."))


def _package(name: str) -> str:
    return name.replace("-", "_")
