# SPDX-License-Identifier: Apache-2.0
"""The folder .venv: how it is made, and the note in it of what the set-up has put there."""

import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from devtools.workspace import ROOT, CommandError, must

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"

_NOTE = VENV / "samebytes-setup.json"


@dataclass
class Note:
    """The recorded state of a .venv.

    It names the Python and the folder of the .venv, since neither can change in place; the
    requirements that are met, the installed distributions with their digests, what was left out
    and why, and the Debian packages that were missing when last asked for. `unfinished` is true
    while pip runs.
    """

    python: str = ""
    folder: str = ""
    unfinished: bool = False
    requirements: list[str] = field(default_factory=list)
    distributions: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    missing_packages: list[str] = field(default_factory=list)

    @property
    def usable(self) -> bool:
        """True if this Python made the .venv in this place, and no installation in it broke off."""
        of_this_python = (self.python, self.folder) == (_this_python(), str(VENV))
        return of_this_python and not self.unfinished and PYTHON.exists()


def read_note() -> Note:
    """The note in .venv; an empty one where there is none that can be read."""
    try:
        return Note(**json.loads(_NOTE.read_text()))
    except (OSError, ValueError, TypeError):
        return Note()


def write_note(note: Note) -> None:
    """Put it in place at once, so that nobody reads half of it."""
    new = _NOTE.with_suffix(".new")
    new.write_text(json.dumps(asdict(note), indent=1))
    new.replace(_NOTE)


@contextmanager
def unfinished(note: Note) -> Iterator[None]:
    """While the body changes .venv, the note says so; what is killed there never looks whole."""
    note.unfinished = True
    write_note(note)
    try:
        yield
    except CommandError:  # pip ended by itself, and left things in order
        _finish(note)
        raise
    _finish(note)


def _finish(note: Note) -> None:
    note.unfinished = False
    write_note(note)


def make_venv() -> Note:
    """Make .venv, empty; its note.

    Raises:
        CommandError: this Python cannot make one.
    """
    create_venv(VENV)
    note = Note(_this_python(), str(VENV))
    write_note(note)
    return note


def create_venv(folder: Path, *, with_pip: bool = True) -> None:
    """Make a fresh venv for the Python that runs this.

    Without pip it takes a tenth of a second, not eight; `pip.into` installs there.

    Raises:
        CommandError: this Python cannot make one.
    """
    require_ensurepip()
    options = [] if with_pip else ["--without-pip"]
    must([_base_python(), "-m", "venv", "--clear", *options, folder])


def require_ensurepip() -> None:
    """Debian and Ubuntu ship it as its own package.

    Raises:
        CommandError: it is missing; the message is the command that installs it.
    """
    if importlib.util.find_spec("ensurepip"):
        return
    if not shutil.which("apt-get"):
        raise CommandError(f"{sys.executable} has no module ensurepip, so it cannot make a venv")
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    sudo = "" if os.geteuid() == 0 else "sudo "
    raise CommandError(
        f"{sys.executable} cannot make a venv. Install what it lacks, then try again:\n"
        f"{sudo}apt-get install {package}"
    )


def _base_python() -> str:
    """Never the Python of a venv: .venv may be active, and is about to be removed."""
    return getattr(sys, "_base_executable", None) or sys.executable


def _this_python() -> str:
    return f"{sys.version} in {sys.base_prefix}"
