# SPDX-License-Identifier: Apache-2.0
"""The name of a new backend or plugin, and the names that follow from it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .._plugins.discovery import listed
from .._plugins.distributions import install_hint
from ..errors import SamebytesError

__all__ = ["Names", "NewBackendError", "names_of"]

# Lines of the package stay below 100 columns up to this.
_LONGEST = 24
# Memory types and distributions of this project that no extra is named after, and a class of it:
# HostContext.
_OURS = frozenset(
    ("d3d11", "gpu_opencl", "host", "mappers", "npu_level_zero", "opencv_umat", "softdevices")
)


class NewBackendError(SamebytesError):
    """A package cannot be written under that name, or there."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the parts of a backend.

    Attributes:
        memory_type: of the memory type, the node and the plugin: "shared_pages"; where there are
            only elements, of the plugin.
        distribution: what pip installs: "samebytes-shared-pages".
        package: what Python imports: "samebytes_shared_pages".
        classes: what class names begin with: "SharedPages".
        constant: of the one context: "SHARED_PAGES".
    """

    memory_type: str
    distribution: str
    package: str
    classes: str
    constant: str


def names_of(name: str, what: str = "a memory type") -> Names:
    """The names for a backend of the memory type `name`, or for a plugin of that name.

    Args:
        what: what it is to be the name of, for the error.

    Raises:
        NewBackendError: it cannot be such a name, or somebody has it.
    """
    # One hyphen for one underscore: then package indexes, which take "-", "_" and "." for the
    # same, and Python's modules, which do not, agree about which names are equal.
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > _LONGEST:
        raise NewBackendError(
            f"{name!r} cannot be the name of {what}: use small letters, digits, and single "
            f"underscores between them, a letter first, {_LONGEST} characters at most; "
            "for instance 'shared_pages'"
        )
    holder = _holder_of(name)
    if holder is not None:
        raise NewBackendError(f"{name!r} is taken: {holder}; choose another name")
    return Names(
        memory_type=name,
        distribution=f"samebytes-{name.replace('_', '-')}",
        package=f"samebytes_{name}",
        classes="".join(part.capitalize() for part in name.split("_")),
        constant=name.upper(),
    )


def _holder_of(name: str) -> str | None:
    found = listed()
    for record in (*found.plugins.values(), *found.set_aside):
        # One that only SAMEBYTES_PLUGINS names is not installed.
        if record.name == name and (record.module or record.distribution):
            return f"a plugin of {record.distribution or record.module} has this name"
    for node, owner in found.owner_of_node.items():
        if node.partition(":")[0] == name:
            return f"the plugin {owner!r} has a memory type of this name"
    hint = install_hint(name)
    if hint:
        return f"it is a part of samebytes ({hint})"
    return "it is a part of samebytes" if name in _OURS else None
