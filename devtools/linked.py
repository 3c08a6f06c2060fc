# SPDX-License-Identifier: Apache-2.0
"""A venv with what some wheels require, as links to what .venv has of it.

Which packages these are is read from the wheels, and from what is installed, as pip does it: what
no wheel asks for is not there. pip itself would unpack, and without its cache download, hundreds of
MB for each venv.

`python -m devtools.linked FOLDER WHEEL...`, by the Python of .venv; a wheel may have extras behind
it, as for pip.
"""

import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, PathDistribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_WHEEL = re.compile(r"(?P<path>.+\.whl)(?:\[(?P<extras>[^\]]*)\])?")


class NotThereError(Exception):
    """.venv lacks what is required; the message names it."""


def main(folder: str, *wheels: str) -> int:
    """Link into the venv what the wheels require beside each other; the exit status."""
    try:
        found = required(wheels)
    except NotThereError as error:
        print(error)
        return 1
    for package in found:
        link(package, Path(folder))
    return 0


def required(wheels: Iterable[str]) -> list[Distribution]:
    """What is installed here of all that the wheels require, and of what that requires in turn.

    Raises:
        NotThereError: something is missing, or of a version that will not do.
    """
    given, left = set[str](), list[Requirement]()
    for wheel in wheels:
        match = _WHEEL.fullmatch(wheel)
        assert match, wheel
        metadata = _metadata(Path(match["path"]))
        given.add(canonicalize_name(metadata.name))
        left += _requirements(metadata, (match["extras"] or "").split(","))
    found, seen = dict[str, Distribution](), set[tuple[str, frozenset[str]]]()
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        if name in given:
            continue
        package = found.get(name) or _installed(name)
        if not requirement.specifier.contains(package.version, prereleases=True):
            raise NotThereError(f"{requirement} is required, and .venv has {package.version}")
        found[name] = package
        asked = (name, frozenset(requirement.extras))
        if asked not in seen:
            seen.add(asked)
            left += _requirements(package, requirement.extras)
    return list(found.values())


def link(package: Distribution, venv: Path) -> None:
    """Link each file of a package; of what is compiled of it, too."""
    (packages,) = venv.glob("lib/python3*/site-packages")
    for source, target in _files(package, packages.resolve()):
        if venv.resolve() not in target.parents or target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.parent.name == "bin":
            # The first line names the Python of .venv.
            target.write_bytes(source.read_bytes().replace(*_prefixes(venv), 1))
            target.chmod(source.stat().st_mode)
        else:
            target.symlink_to(source)


def _files(package: Distribution, packages: Path) -> Iterator[tuple[Path, Path]]:
    """(the file, the place for it below the site-packages of another venv)."""
    for file in package.files or ():
        source = Path(str(package.locate_file(file)))
        if not source.is_file():
            continue
        # ".." of what lies beside site-packages, such as libraries and programs.
        target = Path(*_normal((packages / file).parts))
        yield source, target
        if source.suffix == ".py":
            name = f"__pycache__/{source.stem}.{sys.implementation.cache_tag}.pyc"
            if (source.parent / name).exists():
                yield source.parent / name, target.parent / name


def _normal(parts: Sequence[str]) -> list[str]:
    normal = list[str]()
    for part in parts:
        if part == "..":
            normal.pop()
        else:
            normal.append(part)
    return normal


def _prefixes(venv: Path) -> tuple[bytes, bytes]:
    return bytes(Path(sys.prefix)), bytes(venv)


def _installed(name: str) -> Distribution:
    try:
        package = distribution(name)
    except PackageNotFoundError:
        raise NotThereError(f"{name} is required, and .venv lacks it") from None
    if not package.files:
        raise NotThereError(f"{name} is required, and nothing lists its files")
    return package


def _requirements(package: Distribution, extras: Iterable[str]) -> list[Requirement]:
    every = [Requirement(text) for text in package.requires or ()]
    chosen = {"", *extras}
    return [
        each
        for each in every
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in chosen)
    ]


def _metadata(wheel: Path) -> Distribution:
    archive = zipfile.ZipFile(wheel)
    (name,) = (n for n in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n))
    return PathDistribution(zipfile.Path(archive, name.removesuffix("METADATA")))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
