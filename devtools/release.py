# SPDX-License-Identifier: Apache-2.0
"""A release as it will be published: built and checked. Nothing is uploaded."""

import re
from collections.abc import Sequence
from pathlib import Path

from devtools import metadata
from devtools.results import Result, not_run
from devtools.wheels import wheels
from devtools.workspace import CORE, DISTRIBUTIONS, ROOT, CommandError, capture

__all__ = ["before_uploading", "release", "same_versions"]

_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def release(folder: Path) -> list[Result]:
    """Build all distributions into `folder`, and check them."""
    found = [_result("versions", same_versions(), "all distributions have one version")]
    if not found[0].ok:
        return found
    found.append(wheels(folder))
    if not found[-1].ok:
        return found
    _say_what_to_upload(folder)
    found += [not_run("before uploading", line) for line in before_uploading()]
    return found


def same_versions() -> list[str]:
    """The places where a version differs from the core's: in metadata, or in a `__version__`."""
    wanted = metadata.read(CORE.path)["project"]["version"]
    found = [c for c in metadata.complaints() if ": version is " in c]
    for distribution in DISTRIBUTIONS:
        for module in sorted((distribution.path / "src").glob("*/*.py")):
            for version in _VERSION.findall(module.read_text()):
                if version != wanted:
                    name = module.relative_to(ROOT)
                    found.append(f"{name}: __version__ is {version}, expected {wanted}")
    return found


def before_uploading() -> list[str]:
    """The reasons not to publish a release yet, although it can be built."""
    version = metadata.read(CORE.path)["project"]["version"]
    found = []
    if f"\n## [{version}]" not in (ROOT / "CHANGELOG.md").read_text():
        found.append(f"CHANGELOG.md has no section [{version}]")
    try:
        changed = capture(["git", "status", "--porcelain"])
    except (CommandError, OSError):
        return [*found, "this is not a checkout of git, so nobody can tell what was built"]
    if changed:
        found.append(f"{len(changed.splitlines())} files differ from the last commit")
    return found


def _say_what_to_upload(folder: Path) -> None:
    """The files in the order in which an index must have them: what others need comes first."""
    print("\nTo upload, in this order (nothing was uploaded):")
    for distribution in DISTRIBUTIONS:
        stem = distribution.name.replace("-", "_")
        for file in sorted(folder.glob(f"{stem}-[0-9]*")):
            print(f"  {file}")


def _result(name: str, complaints: Sequence[str], good: str) -> Result:
    for complaint in complaints:
        print(complaint)
    return Result(name, not complaints, "; ".join(complaints[:3]) or good)
