# SPDX-License-Identifier: Apache-2.0
"""The tier without one backend: a full install that lacks it.

The copy of .venv has links to everything but the removed parts: it takes neither time nor space.
"""

import re
import shutil
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from devtools.environment import why_left_out
from devtools.pytest_run import few, on, pytest_run
from devtools.results import Result
from devtools.venv import VENV, create_venv
from devtools.workspace import DISTRIBUTIONS, ROOT, SOFTDEVICES, Distribution

# Discovery, routing and other distributions' edges can miss a backend's plugin.
BACKENDS = tuple(d for d in DISTRIBUTIONS if "/" in d.folder and d != SOFTDEVICES)
# Those with which no other is tested are removed together: tests alone show that each needs none.
LAST = tuple(b for b in BACKENDS if not any(b.name in d.alone_with for d in DISTRIBUTIONS))

# The core's tests of installed plugins. Its other tests make up their plugins and routes.
_PLUGINS = ("discovery", "installed", "installing", "requirements", "signal_handlers", "words")
_ALWAYS = ("sdk/tests/cli", *(f"sdk/tests/plugins/test_{name}.py" for name in _PLUGINS))
# The rest of the suites is about memory, and the same whatever else is installed; that declaring a
# plugin imports no framework shows in the tests alone.
_TELLING = (
    "not conformance or unknown_names or route_says or same_bytes"
    " or (plugin and not declaring_is_light)"
)


def without(name: str, *, strict: bool, may_miss: Sequence[str]) -> list[Result]:
    """Remove the backend of that name, or each in turn if the name is empty, and test the rest."""
    chosen = [b for b in BACKENDS if not why_left_out(b.name) and name in ("", b.name)]
    groups = [[b] for b in chosen if b not in LAST] + [[b for b in chosen if b in LAST]]
    return [_without(removed, strict=strict, may_miss=may_miss) for removed in groups if removed]


def _without(removed: Sequence[Distribution], *, strict: bool, may_miss: Sequence[str]) -> Result:
    name = " ".join(["without", *(b.name for b in removed)])
    devices = sorted({device for b in BACKENDS for device in b.devices})
    gone = [d.modules[0] for d in with_dependents(removed)]
    with tempfile.TemporaryDirectory(prefix="samebytes-without-") as folder:
        link_venv(VENV, Path(folder, "venv"), gone)
        arguments = [*few(_TELLING), "-p", "no:cacheprovider", *telling_tests(removed)]
        return pytest_run(
            name,
            Path(folder, "venv", "bin", "python"),
            [*on(devices, strict=strict), *arguments],
            strict=strict,
            may_miss=[*may_miss, *gone],
        )


def with_dependents(removed: Sequence[Distribution]) -> list[Distribution]:
    """These backends, and those that pip never installs without one of them."""
    return list(dict.fromkeys([*removed, *(d for b in removed for d in dependents(b))]))


def dependents(removed: Distribution) -> list[Distribution]:
    """The backends that pip never installs without that one, so that nobody has them alone."""
    found = []
    for distribution in BACKENDS:
        project = tomllib.loads((distribution.path / "pyproject.toml").read_text())["project"]
        names = {re.split(r"[^\w-]", text, maxsplit=1)[0] for text in project["dependencies"]}
        if removed.name in names:
            found.append(distribution)
    return found


def telling_tests(removed: Sequence[Distribution]) -> list[str]:
    """The files and folders of the tests that could notice the removal.

    They are those of installed plugins and the command, those that name the removed (by a word if
    it is tested alone with one), and the conformance tests of plugins and routes. Tests that join
    it to others have nothing to do without it, and its dependents are removed with it.
    """
    gone, names = with_dependents(removed), {b.name for b in removed}
    module = re.compile(rf"\b({'|'.join(b.modules[0] for b in removed)})\b")
    word = re.compile("|".join(name.rpartition("-")[2] for name in names), re.IGNORECASE)
    paths = list(_ALWAYS)
    for distribution in DISTRIBUTIONS:
        with_it = not names.isdisjoint(distribution.alone_with)
        if distribution in gone or (with_it and distribution not in BACKENDS):
            continue
        for path in sorted((distribution.path / "tests").glob("**/test_*.py")):
            named = (word if with_it else module).search(path.read_text())
            name = str(path.relative_to(ROOT))
            if (named or "/test_conformance" in name) and not name.startswith(_ALWAYS):
                paths.append(name)
    return paths


def link_venv(venv: Path, folder: Path, gone: Sequence[str]) -> None:
    """Make a venv with links to the contents of another one, except for some modules."""
    create_venv(folder, with_pip=False)
    (packages,) = (path.relative_to(venv) for path in venv.glob("lib/python3*/site-packages"))
    # Editable: a .pth file, which leads to the source, and the metadata.
    names = re.compile(rf"(\w*_)?({'|'.join(gone)})(-.+\.dist-info|\.pth)")
    for place in (packages, Path("lib"), Path()):
        for entry in (venv / place).iterdir():
            copy = folder / place / entry.name
            if not copy.exists() and not names.fullmatch(entry.name):
                copy.symlink_to(entry)
    for script in (venv / "bin").iterdir():
        there = folder / "bin" / script.name
        if not there.exists() and script.is_file():
            shutil.copy(script, there)
            # A script's first line names the Python of its venv.
            content = there.read_bytes()
            if content.startswith(b"#!"):
                there.write_bytes(content.replace(bytes(venv), bytes(folder), 1))
