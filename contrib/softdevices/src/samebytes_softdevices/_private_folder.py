# SPDX-License-Identifier: Apache-2.0
"""Folders with links and configuration files by which libraries find the devices.

They must outlive this process, because the command replaces `run`. So they lie in the user's cache,
under a name made from their content: the same content gives the same folder again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["private_folder"]


def private_folder(links: Mapping[str, Path], files: Mapping[str, str]) -> Path:
    """Return a folder with symbolic `links` (name: target) and `files` (name: content).

    Names may contain one folder: "icd/software.icd".

    Raises:
        OSError: neither the cache nor the folder for temporary files can be written.
    """
    content = repr((sorted((n, str(p)) for n, p in links.items()), sorted(files.items())))
    final = _cache() / hashlib.sha256(content.encode()).hexdigest()[:16]
    if _is_whole(final, (*links, *files)):
        return final
    try:
        final.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix="new-", dir=final.parent))
    except OSError:
        made = Path(tempfile.mkdtemp(prefix="samebytes-softdevices-"))
        _fill(made, links, files)
        return made
    _fill(made, links, files)
    # Renamed when complete, so that no process ever sees half a folder.
    try:
        made.rename(final)
    except OSError:  # it exists: another process was faster, or something in it was deleted
        if not _is_whole(final, (*links, *files)):
            shutil.rmtree(final, ignore_errors=True)
            made.rename(final)
        else:
            shutil.rmtree(made, ignore_errors=True)
    return final


def _is_whole(folder: Path, names: tuple[str, ...]) -> bool:
    return all((folder / name).exists() for name in names)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "samebytes-softdevices"


def _fill(folder: Path, links: Mapping[str, Path], files: Mapping[str, str]) -> None:
    for name, target in links.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(target)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
