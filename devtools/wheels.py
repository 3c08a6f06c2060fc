# SPDX-License-Identifier: Apache-2.0
"""The distributions as they are published: sdists and wheels, checked before anyone gets them.

The name of a wheel with compiled libraries states on which systems they run. pip builds it for its
own machine (`linux_x86_64`); the tag for others (`manylinux_2_34_x86_64`, say) is set here, from
the real dependencies of the libraries.
"""

import json
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

from devtools import metadata
from devtools.results import Result, not_run
from devtools.venv import PYTHON
from devtools.workspace import (
    CORE,
    DISTRIBUTIONS,
    ROOT,
    CommandError,
    Distribution,
    capture,
    must,
    run,
)

_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


class WheelError(Exception):
    """A wheel must not be published; the message names it and says why."""


def wheels(folder: Path) -> Result:
    """Build every distribution into `folder`, replacing the results of an earlier build."""
    folder.mkdir(parents=True, exist_ok=True)
    for distribution in DISTRIBUTIONS:
        for old in folder.glob(f"{distribution.name.replace('-', '_')}-*"):
            old.unlink()
    build_all(folder, DISTRIBUTIONS)
    return audited(folder, strict=True)


def build_all(folder: Path, distributions: Iterable[Distribution]) -> None:
    """Build the sdist of each distribution, and its wheel from that: a missing file shows."""
    for distribution in distributions:
        must([PYTHON, "-m", "build", "--no-isolation", "--outdir", folder, distribution.path])


def audited(folder: Path, *, strict: bool) -> Result:
    """Give the wheels in `folder` their tags, and check them and the sdists as an index would.

    A library that could not be compiled here is a failure only in a strict run.
    """
    name = "packages"
    missing = [note for wheel in _platform_wheels(folder) for note in notes_in(wheel)]
    if missing and not strict:
        return not_run(name, missing[0])
    try:
        tags = [tagged(wheel) for wheel in _platform_wheels(folder)]
    except (CommandError, WheelError) as error:
        return Result(name, False, str(error))
    files = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    ok = not run([PYTHON, "-m", "twine", "check", "--strict", *files])
    summary = f"{len(files)} files, {', '.join(tags)}" if ok else "twine check --strict failed"
    return Result(name, ok, summary)


def _platform_wheels(folder: Path) -> list[Path]:
    return sorted(folder.glob("*-linux_*.whl"))


def notes_in(wheel: Path) -> list[str]:
    """The notes in a wheel that stand for libraries that could not be compiled."""
    with zipfile.ZipFile(wheel) as archive:
        notes = [name for name in archive.namelist() if name.endswith(".so.missing")]
        return [f"{wheel.name}: {archive.read(name).decode().strip()}" for name in notes]


def tagged(wheel: Path) -> str:
    """Rename a wheel for the platforms on which it runs, and return their tag.

    Raises:
        WheelError: a library in it is missing, or needs one that is not on every system.
        CommandError: a tool failed.
    """
    if notes := notes_in(wheel):
        raise WheelError(notes[0])
    report = json.loads(capture([PYTHON, "-m", "auditwheel", "show", "--json", wheel]))
    tag = str(report["overall_tag"])
    if not tag.startswith("manylinux_"):
        raise WheelError(f"{wheel.name} runs on no more systems than this one: {tag}")
    must([PYTHON, "-m", "wheel", "tags", "--remove", f"--platform-tag={tag}", wheel])
    return tag


def release(folder: Path) -> list[Result]:
    """Build all distributions into `folder`, check them, and list them as an index must have them.

    Distributions that others need come first.
    """
    wrong = same_versions()
    for complaint in wrong:
        print(complaint)
    if wrong:
        return [Result("versions", False, wrong[0])]
    built = wheels(folder)
    print("\nTo upload, in this order (nothing was uploaded):")
    for distribution in DISTRIBUTIONS:
        for file in sorted(folder.glob(f"{distribution.name.replace('-', '_')}-[0-9]*")):
            print(f"  {file}")
    return [built]


def same_versions() -> list[str]:
    """The places that lack the core's version: metadata, a `__version__`, and the changelog."""
    wanted = metadata.read(CORE.path)["project"]["version"]
    found = [c for c in metadata.complaints() if ": version is " in c]
    if f"\n## [{wanted}]" not in (ROOT / "CHANGELOG.md").read_text():
        found.append(f"CHANGELOG.md has no section [{wanted}]")
    for distribution in DISTRIBUTIONS:
        for module in sorted((distribution.path / "src").glob("*/*.py")):
            for version in _VERSION.findall(module.read_text()):
                if version != wanted:
                    name = module.relative_to(ROOT)
                    found.append(f"{name}: __version__ is {version}, expected {wanted}")
    return found
