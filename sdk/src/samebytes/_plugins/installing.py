# SPDX-License-Identifier: Apache-2.0
"""Install commands that work today, wherever this project's packages are.

Hints name packages as a package index will have them. As long as no index has them, `working` turns
such hints into commands that work: with folders of the checkout from which samebytes was installed,
or with the folder of its wheels.
"""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from .installed import extras, find_distribution, said_of_samebytes

__all__ = ["PUBLISHED", "extras", "working"]

# True once `pip install samebytes` works: change it after the first release was uploaded.
PUBLISHED = False

_OURS = r'"?(samebytes(?:-[a-z0-9-]+)?)(?:\[([a-z0-9_,-]+)\])?"?(?![\w./-])'
_COMMAND = re.compile(rf"pip install (?=[\"]?samebytes){_OURS}")
_ANY_WHEELS = "FOLDER_OF_WHEELS"


def working(text: str) -> str:
    """The same text, with commands that work for this project's packages.

    Args:
        text: a hint or a sentence with commands: 'pip install "samebytes[ffmpeg]"'.
    """
    if PUBLISHED or "pip install" not in text:
        return text
    return _COMMAND.sub(_from_here, text)


def _from_here(found: re.Match[str]) -> str:
    name, wanted = found[1], found[2] or ""
    if name not in _ours():
        return found[0]
    checkout = _source()
    if checkout is None or not checkout.is_dir():
        quoted = shlex.quote(str(checkout.parent)) if checkout else _ANY_WHEELS
        requirement = f'"{name}[{wanted}]"' if wanted else name
        return f"pip install --find-links {quoted} {requirement}"
    folders = _folders(checkout)
    parts: list[str] = []
    for one in wanted.split(",") if name == "samebytes" and wanted else ():
        for package, more in _brought_by(one):
            parts.append(_part(folders.get(package), package, more))
    if not parts:
        parts = [_part(folders.get(name), name, wanted)]
    return f"pip install {' '.join(dict.fromkeys(parts))}"


def _part(folder: Path | None, name: str, wanted: str) -> str:
    extra = f"[{wanted}]" if wanted else ""
    text = f"{folder or name}{extra}"
    return f'"{text}"' if extra else shlex.quote(text)


def _brought_by(extra: str) -> list[tuple[str, str]]:
    """The packages that an extra of samebytes installs, each with its own extras."""
    found = []
    marked = re.compile(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]")
    for line in said_of_samebytes("requires-dist"):
        named = re.match(r"([A-Za-z0-9._-]+)(?:\[([\w,-]+)\])?", line)
        if marked.search(line) and named:
            found.append((named[1], named[2] or ""))
    return found


def _ours() -> set[str]:
    """The names of this project's packages."""
    brought = {name for extra in extras() for name, _ in _brought_by(extra)}
    return {"samebytes", "samebytes-softdevices"} | brought


@cache
def _source() -> Path | None:
    """The checkout, or the wheel, from which samebytes was installed (PEP 610)."""
    found = find_distribution("samebytes")
    try:
        said = found.read("direct_url.json") if found else ""
        url = urlsplit(json.loads(said or "{}").get("url", ""))
    except (ValueError, AttributeError):
        return None
    path = Path(unquote(url.path))
    if url.scheme != "file" or not path.exists():
        return None
    return path.parent if path.is_dir() else path


@cache
def _folders(checkout: Path) -> dict[str, Path]:
    """The folder of each distribution of a checkout, by its name."""
    import tomllib  # deferred until something is missing

    found = {}
    for file in (*checkout.glob("*/pyproject.toml"), *checkout.glob("*/*/pyproject.toml")):
        try:
            name = tomllib.loads(file.read_text()).get("project", {}).get("name", "")
        except (OSError, ValueError):
            continue
        if name.startswith("samebytes"):
            found[name] = file.parent
    return found
