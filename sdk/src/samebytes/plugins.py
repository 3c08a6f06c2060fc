# SPDX-License-Identifier: Apache-2.0
"""The names that only the author of a plugin imports; those of `samebytes` serve authors as well.

A plugin is a module named by an entry point of the group `samebytes.plugins`. It holds a
`PLUGIN` and hook implementations that return data; importing it must not import its framework.
The classes it names are imported when first used; they are made from the rest of this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._lazy import lazy_exports

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._aside import Aside
    from ._converting.conversion import Conversion
    from ._converting.picture import PictureInfo
    from ._core.edges.context import HostContext
    from ._core.edges.edge import MapperSpec, check_access, ordering_queue
    from ._core.edges.mapper import Refused
    from ._core.edges.registry import ContextRegistry, intern
    from ._core.memory.meta import FrameSays
    from ._core.native.arrays import array_in
    from ._core.native.pointers import bind, data_address, native_pointer
    from ._core.owner.closing import read_slot
    from ._core.owner.handle_keys import HandleKey
    from ._core.owner.handles import OwnedPointer, untrack
    from ._core.owner.imports import ImportCache
    from ._core.owner.interrupts import deferred
    from ._core.owner.loans import Lender, Loan, sweep_loans
    from ._core.owner.locks import KeyLocks, Lock, in_forked_child
    from ._core.owner.storage import NativeStorage, joint_owner
    from ._counting import count_copy
    from ._descriptors import (
        bytes_at,
        file_behind,
        file_identity,
        is_dma_buf,
        is_mapped,
        memory_size,
    )
    from ._exchange import DeviceArray, check_dlpack_request
    from ._exchange._pointer_array import PointerArray
    from ._numbers import counted
    from ._plugins.device_nodes import advice_to_open
    from ._plugins.distributions import Entry
    from ._plugins.hooks import hookimpl
    from ._plugins.specs import (
        API,
        ContextSpec,
        ConverterSpec,
        ElementSpec,
        NativeSpec,
        Plugin,
        ProbeResult,
        ProtocolSpec,
    )
    from ._secrets import without_secrets, without_secrets_in

__all__ = [
    "API",
    "Aside",
    "ContextRegistry",
    "ContextSpec",
    "Conversion",
    "ConverterSpec",
    "DeviceArray",
    "ElementSpec",
    "FrameSays",
    "HandleKey",
    "HostContext",
    "ImportCache",
    "KeyLocks",
    "Lender",
    "Loan",
    "Lock",
    "MapperSpec",
    "NativeSpec",
    "NativeStorage",
    "OwnedPointer",
    "PictureInfo",
    "Plugin",
    "PointerArray",
    "ProbeResult",
    "ProtocolSpec",
    "Refused",
    "advice_to_open",
    "array_in",
    "bind",
    "bytes_at",
    "check_access",
    "check_dlpack_request",
    "count_copy",
    "counted",
    "data_address",
    "deferred",
    "entry_points",
    "file_behind",
    "file_identity",
    "hookimpl",
    "in_forked_child",
    "intern",
    "is_dma_buf",
    "is_mapped",
    "joint_owner",
    "lazy_exports",
    "memory_size",
    "native_pointer",
    "ordering_queue",
    "plane_resizer",
    "read_slot",
    "sweep_loans",
    "untrack",
    "without_secrets",
    "without_secrets_in",
]

# Each is imported when it is first used: a plugin that declares needs few of them.
_HOME = {
    "API": ".._plugins.specs",
    "Aside": ".._aside",
    "ContextRegistry": ".._core.edges.registry",
    "ContextSpec": ".._plugins.specs",
    "Conversion": ".._converting.conversion",
    "ConverterSpec": ".._plugins.specs",
    "DeviceArray": ".._exchange",
    "ElementSpec": ".._plugins.specs",
    "FrameSays": ".._core.memory.meta",
    "HandleKey": ".._core.owner.handle_keys",
    "HostContext": ".._core.edges.context",
    "ImportCache": ".._core.owner.imports",
    "KeyLocks": ".._core.owner.locks",
    "Lender": ".._core.owner.loans",
    "Loan": ".._core.owner.loans",
    "Lock": ".._core.owner.locks",
    "MapperSpec": ".._core.edges.edge",
    "NativeSpec": ".._plugins.specs",
    "NativeStorage": ".._core.owner.storage",
    "OwnedPointer": ".._core.owner.handles",
    "PictureInfo": ".._converting.picture",
    "Plugin": ".._plugins.specs",
    "PointerArray": ".._exchange._pointer_array",
    "ProbeResult": ".._plugins.specs",
    "ProtocolSpec": ".._plugins.specs",
    "Refused": ".._core.edges.mapper",
    "advice_to_open": ".._plugins.device_nodes",
    "array_in": ".._core.native.arrays",
    "bind": ".._core.native.pointers",
    "bytes_at": ".._descriptors",
    "check_access": ".._core.edges.edge",
    "check_dlpack_request": ".._exchange",
    "count_copy": ".._counting",
    "counted": ".._numbers",
    "data_address": ".._core.native.pointers",
    "deferred": ".._core.owner.interrupts",
    "file_behind": ".._descriptors",
    "file_identity": ".._descriptors",
    "hookimpl": ".._plugins.hooks",
    "in_forked_child": ".._core.owner.locks",
    "intern": ".._core.edges.registry",
    "is_dma_buf": ".._descriptors",
    "is_mapped": ".._descriptors",
    "joint_owner": ".._core.owner.storage",
    "memory_size": ".._descriptors",
    "native_pointer": ".._core.native.pointers",
    "ordering_queue": ".._core.edges.edge",
    "read_slot": ".._core.owner.closing",
    "sweep_loans": ".._core.owner.loans",
    "untrack": ".._core.owner.handles",
    "without_secrets": ".._secrets",
    "without_secrets_in": ".._secrets",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)


def entry_points(group: str) -> list[Entry]:
    """The entry points of a group, sorted by name, without importing what they stand for.

    For packages that others extend, as plugins extend samebytes. A distribution with broken
    metadata does not keep the others from being found.

    Args:
        group: as in `[project.entry-points."GROUP"]` of a pyproject.toml.

    Returns:
        Objects with `name`, `module`, `distribution`, `version` and `problem`: the reason why one
        cannot be used, or None.
    """
    from ._plugins.distributions import entries

    return entries(group)


def plane_resizer(plugin: str) -> Callable[[Any, Any], object]:
    """A function resize(source, target) that resizes one plane into the memory of another.

    It is that of the cheapest installed converter that has one: cv2.resize, linear.

    Args:
        plugin: the one that asks, for the error.

    Returns:
        A function of two numpy arrays of (rows, columns) or (rows, columns, channels), with the
        same element type and channels.

    Raises:
        MissingDependencyError: no installed plugin has one; the hint says which to install.
        PluginLoadError: the one that is installed cannot be loaded.
    """
    # Every plugin imports this module, and few programs resize.
    from ._converting.planes import find_plane_resizer

    return find_plane_resizer(plugin)
