# SPDX-License-Identifier: Apache-2.0
"""A release as it will be published: built and checked. Nothing is uploaded."""

import re
from pathlib import Path

from devtools import metadata
from devtools.results import Result
from devtools.wheels import wheels
from devtools.workspace import CORE, DISTRIBUTIONS, ROOT

__all__ = ["release", "same_versions"]

_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def release(folder: Path) -> list[Result]:
    """Build all distributions into `folder`, check them, and list them as an index must have them.

    What others need comes first.
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
