# SPDX-License-Identifier: Apache-2.0
"""This machine as if it were new: another home, no cache of pip's, no compiler."""

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from devtools.fresh.surroundings import copy_checkout, environment, pip_settings
from devtools.fresh.terminal import Ended, shown

_COMPILER = re.compile(r"(.*-)?(cc|c\+\+|c89|c99|gcc|g\+\+|clang|clang\+\+|tcc|icx|icpx)(-[\d.]+)?")


class Host:
    """A copy of this checkout in a folder that stands in for a machine."""

    def __init__(self, folder: Path) -> None:
        """For a folder that is empty."""
        self._checkout = folder / "samebytes"
        self._home, self._programs = folder / "home", folder / "programs"
        self._temporary = folder / "tmp"
        for made in (self._home / ".config" / "pip", self._programs, self._temporary):
            made.mkdir(parents=True)
        copy_checkout(self._checkout)
        link_programs(os.environ.get("PATH", os.defpath), self._programs)
        # The Python that runs this, not the first one of the PATH.
        python = self._programs / "python3"
        python.unlink(missing_ok=True)
        python.symlink_to(Path(getattr(sys, "_base_executable", "") or sys.executable).resolve())
        (self._home / ".config" / "pip" / "pip.conf").write_text(pip_settings())

    def run(self, command: Sequence[str]) -> Ended:
        """Run a command in the checkout."""
        variables = environment(str(self._home), str(self._programs))
        variables |= {"PIP_NO_CACHE_DIR": "1", "TMPDIR": str(self._temporary)}
        return shown(command, cwd=self._checkout, env=variables)


@contextmanager
def as_new() -> Iterator[Host]:
    """This machine, as if it were new; what was made is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="samebytes-fresh-") as folder:
        yield Host(Path(folder))


def link_programs(path: str, folder: Path) -> None:
    """Fill a folder with links to the programs of a PATH, all but compilers of C."""
    for place in path.split(os.pathsep):
        if not Path(place).is_dir():
            continue
        for program in Path(place).iterdir():
            link = folder / program.name
            if not _COMPILER.fullmatch(program.name) and not link.is_symlink():
                link.symlink_to(program)
