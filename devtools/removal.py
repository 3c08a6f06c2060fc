# SPDX-License-Identifier: Apache-2.0
"""The tier without one backend: a full install that lacks it.

The copy of .venv has links to all that is there but the removed: it costs neither time nor space.
"""

import re
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from devtools.environment import why_left_out
from devtools.pytest_run import few, on, pytest_run
from devtools.results import Result
from devtools.venv import VENV, create_venv
from devtools.workspace import DISTRIBUTIONS, ROOT, SOFTDEVICES, Distribution

# A backend's plugin is what discovery, routing and other distributions' edges can miss.
BACKENDS = tuple(d for d in DISTRIBUTIONS if "/" in d.folder and d != SOFTDEVICES)

# The core's tests of what is installed. Its others make up the plugins and routes that they ask.
_PLUGINS = ("discovery", "installed", "installing", "requirements", "signal_handlers", "words")
_ALWAYS = ("sdk/tests/cli", *(f"sdk/tests/plugins/test_{name}.py" for name in _PLUGINS))
# The rest of the suites is about memory, and the same whoever else is installed; that a plugin
# declares without importing its framework shows where it is alone.
_TELLING = (
    "not conformance or unknown_names or route_says or same_bytes"
    " or (plugin and not declaring_is_light)"
)

_COPIES = ROOT / ".venv-without"


def without(name: str, *, strict: bool, may_miss: Sequence[str]) -> list[Result]:
    """Remove the backend of that name, or each alone if it is empty, and test the rest."""
    chosen = [b for b in BACKENDS if not why_left_out(b.name) and name in ("", b.name)]
    return [_without(b, strict=strict, may_miss=may_miss) for b in chosen]


def _without(removed: Distribution, *, strict: bool, may_miss: Sequence[str]) -> Result:
    name = f"without {removed.name}"
    devices = sorted({device for d in BACKENDS for device in d.devices})
    gone = [removed.name.replace("-", "_"), *(d.modules[0] for d in dependents(removed))]
    with _copy_of_venv(_COPIES / removed.name, gone) as python:
        return pytest_run(
            name,
            python,
            [
                *on(devices, strict=strict),
                *few(_TELLING),
                *("-p", "no:cacheprovider"),
                *telling_tests(removed),
            ],
            strict=strict,
            may_miss=[*may_miss, *gone],
        )


def dependents(removed: Distribution) -> list[Distribution]:
    """The backends that pip never installs without that one, so nobody has them alone."""
    found = []
    for distribution in BACKENDS:
        project = tomllib.loads((distribution.path / "pyproject.toml").read_text())["project"]
        names = {re.split(r"[^\w-]", text, maxsplit=1)[0] for text in project["dependencies"]}
        if removed.name in names:
            found.append(distribution)
    return found


def telling_tests(removed: Distribution) -> list[str]:
    """The files and folders of the tests that could notice.

    They are those of installed plugins and the command, what names the removed one (by a word where
    it is tested alone with it), and of every conformance what asks plugins and routes. What joins
    it to others has nothing to do without it, and what depends on it is removed with it.
    """
    gone = [removed, *dependents(removed)]
    module = re.compile(rf"\b{removed.name.replace('-', '_')}\b")
    word = re.compile(removed.name.rpartition("-")[2], re.IGNORECASE)
    paths = list(_ALWAYS)
    for distribution in DISTRIBUTIONS:
        with_it = removed.name in distribution.alone_with
        if distribution in gone or (with_it and distribution not in BACKENDS):
            continue
        for path in sorted((distribution.path / "tests").glob("**/test_*.py")):
            named = (word if with_it else module).search(path.read_text())
            name = str(path.relative_to(ROOT))
            if (named or "/test_conformance" in name) and not name.startswith(_ALWAYS):
                paths.append(name)
    return paths


@contextmanager
def _copy_of_venv(folder: Path, gone: Sequence[str]) -> Iterator[Path]:
    """A copy of .venv without some modules of ours; its Python. It is gone afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        link_venv(VENV, folder, gone)
        yield folder / "bin" / "python"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def link_venv(venv: Path, folder: Path, gone: Sequence[str]) -> None:
    """Make a venv with links to what another one has, but for what is installed of some modules."""
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
