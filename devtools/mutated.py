# SPDX-License-Identifier: Apache-2.0
"""The code that `dev.py mutate` puts faults into: the parts of the core, backends, and contrib."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devtools.pytest_run import on
from devtools.workspace import DISTRIBUTIONS, ROOT, SOFTDEVICES

__all__ = ["CORE", "CORE_PARTS", "PARTS", "Package", "Part"]


@dataclass(frozen=True)
class Package:
    """One that is copied whole for each fault in it.

    Attributes:
        path: the folder that is imported.
        suites: the tests closest to it, below the root of the repository.
        devices: the software devices that they run on.
    """

    path: Path
    suites: tuple[str, ...]
    devices: tuple[str, ...] = ()

    @property
    def options(self) -> list[str]:
        """The options of pytest for the devices. Tests skip where a device cannot be used here."""
        return on(self.devices, strict=False)


@dataclass(frozen=True)
class Part:
    """A folder of modules to put faults into.

    Attributes:
        package: the package that the folder is in.
        folder: the folder; all modules below it are included.
    """

    package: Package
    folder: Path


# The tests of backends would notice more in the core, and take hours.
CORE: Final = Package(
    ROOT / "sdk" / "src" / "samebytes",
    ("sdk/tests/core", "sdk/tests/exchange", "sdk/tests/plugins", "tests/test_closing.py"),
)
CORE_PARTS = ("_core", "_routing", "_exchange", "_plugins")


def _backends() -> dict[str, Part]:
    found = {}
    for distribution in DISTRIBUTIONS:
        above, _, name = distribution.folder.partition("/")
        if above in ("backends", "contrib") and distribution != SOFTDEVICES:
            path = distribution.path / "src" / f"samebytes_{name}"
            suites = (f"{distribution.folder}/tests",)
            found[name] = Part(Package(path, suites, distribution.devices), path)
    return found


PARTS: Mapping[str, Part] = {
    **{name: Part(CORE, CORE.path / name) for name in CORE_PARTS},
    **_backends(),
}
