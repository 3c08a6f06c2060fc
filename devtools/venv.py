# SPDX-License-Identifier: Apache-2.0
"""The folder .venv: making it, and the note in it about what the set-up installed."""

import importlib.util
import json
import os
import shutil
import sys
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
    requirements that are met, the installed distributions with their digests, and what was left
    out and why. `unfinished` is true while pip runs.
    """

    python: str = f"{sys.version} in {sys.base_prefix}"
    folder: str = field(default_factory=lambda: str(VENV))
    unfinished: bool = False
    requirements: list[str] = field(default_factory=list)
    distributions: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def write(self, *, unfinished: bool) -> None:
        """Write the note atomically, so that nobody reads half of it."""
        self.unfinished = unfinished
        new = _NOTE.with_suffix(".new")
        new.write_text(json.dumps(asdict(self), indent=1))
        new.replace(_NOTE)


def read_note() -> Note | None:
    """The note in .venv.

    None if another Python made it, or in another place, or if an installation was interrupted.
    """
    try:
        written = json.loads(_NOTE.read_text())
        note = Note(**{name: written[name] for name in asdict(Note())})
    except (OSError, ValueError, KeyError):
        return None
    as_now = (note.python, note.folder, note.unfinished) == (Note().python, str(VENV), False)
    return note if as_now and PYTHON.exists() else None


def create_venv(folder: Path, *, with_pip: bool = True) -> None:
    """Make a fresh venv for the Python that runs this.

    Without pip it takes a tenth of a second, not eight; `pip.into` installs there.
    """
    require_ensurepip()
    options = [] if with_pip else ["--without-pip"]
    # Never the Python of a venv: .venv may be active, and is about to be removed.
    base = getattr(sys, "_base_executable", None) or sys.executable
    must([base, "-m", "venv", "--clear", *options, folder])


def require_ensurepip() -> None:
    """Require ensurepip, which Debian and Ubuntu ship as a separate package.

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
