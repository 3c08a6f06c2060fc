# SPDX-License-Identifier: Apache-2.0
"""Rules of this repository that no linter knows."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from devtools.openings import complaints_about_openings
from devtools.wording import complaints_about_words
from devtools.workspace import DISTRIBUTIONS, ROOT, source_files

# Also in the scripts that tests run, which are strings.
_ANY_CHILD = re.compile(r"\bos\.(wait3?\(|waitpid\(-1|wait4\(-1|waitid\(os\.P_ALL)")
# nohup, and a shell for what it starts in the background, ignore some of these.
_NOT_ATOMIC = re.compile(r"\b(list|tuple)\((self\.)?_[\w.]*\.items\(\)\)")
_MAY_BE_IGNORED = re.compile(r"\bsignal\.SIG(HUP|INT|QUIT|TERM)\b|\bkill -(HUP|INT|QUIT|TERM)\b")
_DEFAULT_SIGNALS = "default_signals"
# A forked child inherits these locked, and a finalizer cannot take some of them again. Until Python
# 3.12, a cached_property has one.
_LOCKS = frozenset(
    [
        "_thread.RLock",
        "_thread.allocate_lock",
        "functools.cached_property",
        "multiprocessing.Lock",
        "multiprocessing.RLock",
        "queue.LifoQueue",
        "queue.PriorityQueue",
        "queue.Queue",
        "threading.BoundedSemaphore",
        "threading.Event",
        "threading.Lock",
        "threading.RLock",
        "threading.Semaphore",
    ]
)
_LOCKS_OF_THE_CORE = Path("sdk/src/samebytes/_core/owner/locks.py")
# It uses nothing of samebytes.
_WITHOUT_THE_CORE = "samebytes_softdevices"
_INSTALLS_OURS = re.compile(r"pip install (?:-[\w-]+ )*[\\\"']*samebytes")
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
_SPDX = "# SPDX-License-Identifier: Apache-2.0"


def complaints() -> list[str]:
    """Every broken rule in the repository, as `path:line: what is wrong`."""
    of_code = [
        f"{path.relative_to(ROOT)}:{complaint}"
        for path in source_files(".py")
        for complaint in _check(path)
    ]
    return [*of_code, *complaints_about_words(), *complaints_about_openings()]


def _check(path: Path) -> list[str]:
    text = path.read_text()
    owner = next((_package(d.name) for d in DISTRIBUTIONS if path.is_relative_to(d.path)), None)
    of_tests = path.name.startswith("test_")
    return [
        *check_licence(text),
        *check_imports(text, owner),
        *(() if "tests" in path.parts else check_attributes(text, owner, _private_attributes())),
        *check_waits(text),
        *(check_signals(text) if of_tests else ()),
        *(check_locks(text) if _has_our_locks(path, owner) else ()),
        *(check_snapshots(text) if _has_our_locks(path, owner) else ()),
        *(check_commands(text) if owner == _WITHOUT_THE_CORE and _is_source(path, ()) else ()),
        *(check_lazy_names(text) if _is_source(path, _OWN_GETATTR) else ()),
        *(check_constructors(text) if _is_source(path, _BY_POSITION) else ()),
    ]


def _is_source(path: Path, but: tuple[str, ...]) -> bool:
    """True if a file is part of a distribution, and neither one of `but` nor in one of them."""
    inside = path.relative_to(ROOT)
    return "src" in inside.parts and not any(inside.is_relative_to(each) for each in but)


def _has_our_locks(path: Path, owner: str | None) -> bool:
    """True if a file is part of what users run, other than the module that makes the locks."""
    return (
        owner not in (None, _WITHOUT_THE_CORE)
        and "src" in path.relative_to(ROOT).parts
        and path != ROOT / _LOCKS_OF_THE_CORE
    )


def check_licence(text: str) -> list[str]:
    """The licence line comes first, or right after a `#!` line."""
    lines = text.splitlines()
    if lines and lines[0].startswith("#!"):
        del lines[0]
    if lines and lines[0] == _SPDX:
        return []
    return [f"1: the first line must be `{_SPDX}`"]


def check_waits(text: str) -> list[str]:
    """A child is waited for by its number.

    Libraries have children of their own (openvino's telemetry is one), and whoever waits for any
    child gets theirs.
    """
    return [
        f"{number}: os.{found[1]} may get a library's child: os.waitpid(child, ...)"
        for number, line in enumerate(text.splitlines(), 1)
        for found in _ANY_CHILD.finditer(line)
    ]


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


def check_locks(text: str) -> list[str]:
    """Every lock is made by the core: reentrant, and free in a forked child.

    A threading.Condition gets one of them as its argument.
    """
    found = [(line, name) for line, name in _imports(text) if name in _LOCKS]
    for node in ast.walk(ast.parse(text)):
        name = _dotted(node)
        if name in _LOCKS:
            found.append((node.lineno, name))  # type: ignore[attr-defined]  # it is an expression
        elif isinstance(node, ast.Call) and not (node.args or node.keywords):
            called = _dotted(node.func).rpartition(".")[2]
            if called == "Condition":
                found.append((node.lineno, "a Condition without a lock of the core's"))
    return [f"{line}: {name}: use samebytes.plugins.Lock or KeyLocks" for line, name in found]


def check_snapshots(text: str) -> list[str]:
    """A table that finalizers change is copied in one step.

    `list(table.items())` makes tuples, and the garbage collector may run at each.
    """
    return [
        f"{number}: list(items()) fails if a finalizer changes the table: use copy().items()"
        for number, line in enumerate(text.splitlines(), 1)
        if _NOT_ATOMIC.search(line)
    ]


def check_commands(text: str) -> list[str]:
    """What uses nothing of samebytes names no package of ours in a command that installs it.

    The core makes such commands work until the packages are published, and sees these nowhere.
    """
    return [
        f"{number}: this command does not work until the packages are published"
        for number, line in enumerate(text.splitlines(), 1)
        if _INSTALLS_OURS.search(line)
    ]


def check_lazy_names(text: str) -> list[str]:
    """A package imports its modules late by `lazy_exports`, not by a `__getattr__` of its own."""
    return [
        f"{node.lineno}: a module's own __getattr__: use samebytes.plugins.lazy_exports"
        for node in _at_module_level(ast.parse(text).body)
        if isinstance(node, ast.FunctionDef) and node.name == "__getattr__"
    ]


def _at_module_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _at_module_level([*node.body, *node.orelse])


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


def _dotted(node: ast.AST) -> str:
    """The expression `a.b` as a string; "" for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def check_signals(text: str) -> list[str]:
    """A test that uses a signal which the caller may ignore sets what it does."""
    if _DEFAULT_SIGNALS in text:
        return []
    return [
        f"{number}: {found[0]} may be ignored here; use the fixture {_DEFAULT_SIGNALS}"
        for number, line in enumerate(text.splitlines(), start=1)
        if (found := _MAY_BE_IGNORED.search(line))
    ]


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
