# SPDX-License-Identifier: Apache-2.0
"""The names that the author of a plugin imports.

A plugin is a module named by an entry point of the group `samebytes.plugins`. It holds a
`PLUGIN` and hook implementations that return data; importing it must not import its framework.
The classes it names are imported when first used; they are made from the rest of this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._aside import Aside, GivenUpError, taken_from
from ._converting.conversion import Conversion
from ._converting.picture import PictureInfo
from ._core.edges.context import CPU_DEVICE, Context, Device, HostContext, Level
from ._core.edges.edge import Access, MapperSpec, Transfer, check_access, ordering_queue
from ._core.edges.mapper import MemoryMapper, Refused
from ._core.edges.registry import ContextRegistry, intern, living_contexts
from ._core.memory.frame import Frame
from ._core.memory.info import TensorInfo, dense_strides
from ._core.memory.meta import FrameMeta, FrameSays
from ._core.memory.tensor import Tensor
from ._core.native.arrays import array_in, arrays_in
from ._core.native.descriptors import (
    bytes_at,
    file_behind,
    file_identity,
    is_dma_buf,
    is_mapped,
    memory_size,
)
from ._core.native.pointers import bind, data_address, native_pointer
from ._core.owner.closing import read_slot
from ._core.owner.handles import (
    Fd,
    HandleKey,
    OwnedPointer,
    owned_pointer_type,
    register_handle_key,
    untrack,
)
from ._core.owner.imports import ImportCache
from ._core.owner.interrupts import deferred
from ._core.owner.loans import (
    Lender,
    Loan,
    keep_while,
    lent_count,
    lent_in,
    sweep_loans,
)
from ._core.owner.locks import KeyLocks, Lock, in_forked_child
from ._core.owner.storage import (
    NativeStorage,
    Storage,
    joint_owner,
)
from ._counting import count_copy
from ._cpu.tensor import CpuTensor
from ._dtypes import DType, dtype
from ._exchange import DeviceArray, check_dlpack_request, dlpack_array, dlpack_capsule
from ._exchange._pointer_array import PointerArray
from ._lazy import lazy_exports
from ._plugins.hooks import hookimpl
from ._plugins.specs import (
    API,
    ContextSpec,
    ConverterSpec,
    ElementSpec,
    NativeSpec,
    Plugin,
    PluginDeprecationWarning,
    ProbeResult,
    ProtocolSpec,
)
from ._secrets import without_secrets, without_secrets_in
from ._seldom import Seldom

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable
    from typing import Any

    from ._plugins.distributions import Entry

__all__ = [
    "API",
    "CPU_DEVICE",
    "Access",
    "Aside",
    "Context",
    "ContextRegistry",
    "ContextSpec",
    "Conversion",
    "ConverterSpec",
    "CpuTensor",
    "DType",
    "Device",
    "DeviceArray",
    "ElementSpec",
    "Fd",
    "Frame",
    "FrameMeta",
    "FrameSays",
    "GivenUpError",
    "HandleKey",
    "HostContext",
    "ImportCache",
    "KeyLocks",
    "Lender",
    "Level",
    "Loan",
    "Lock",
    "MapperSpec",
    "MemoryMapper",
    "NativeSpec",
    "NativeStorage",
    "OwnedPointer",
    "PictureInfo",
    "Plugin",
    "PluginDeprecationWarning",
    "PointerArray",
    "ProbeResult",
    "ProtocolSpec",
    "Refused",
    "Seldom",
    "Storage",
    "Tensor",
    "TensorInfo",
    "Transfer",
    "array_in",
    "arrays_in",
    "bind",
    "bytes_at",
    "check_access",
    "check_dlpack_request",
    "count_copy",
    "data_address",
    "deferred",
    "dense_strides",
    "dlpack_array",
    "dlpack_capsule",
    "dtype",
    "entry_points",
    "file_behind",
    "file_identity",
    "hookimpl",
    "in_forked_child",
    "intern",
    "is_dma_buf",
    "is_mapped",
    "joint_owner",
    "keep_while",
    "lazy_exports",
    "lent_count",
    "lent_in",
    "living_contexts",
    "logger",
    "memory_size",
    "native_pointer",
    "ordering_queue",
    "owned_pointer_type",
    "plane_resizer",
    "probe",
    "read_slot",
    "register_handle_key",
    "sweep_loans",
    "taken_from",
    "untrack",
    "without_secrets",
    "without_secrets_in",
]


def entry_points(group: str) -> list[Entry]:
    """The entry points of a group, sorted by name, without importing what they stand for.

    For packages that others extend, as plugins extend samebytes. No distribution, however its
    metadata are broken, keeps the others from being found.

    Args:
        group: as in `[project.entry-points."GROUP"]` of a pyproject.toml.

    Returns:
        Objects with `name`, `module`, `distribution` and `version`; `problem` says why one cannot
        be used, or is None.
    """
    from ._plugins.distributions import entries

    return entries(group)


def logger(part: str = "") -> logging.Logger:
    """The logger "samebytes", or one below it; its records say no secret.

    Whatever else an element or a plugin would print goes there. Like those of other libraries it
    prints nothing by itself.

    Args:
        part: what it is about: the name of the plugin, "toy" for "samebytes.toy".
    """
    # Every plugin imports this module, and few say something.
    from ._log import logger as named

    return named(part)


def plane_resizer(plugin: str) -> Callable[[Any, Any], object]:
    """A function resize(source, target) that resizes one plane into the memory of another.

    Of the installed converters that have one it is that of the cheapest: cv2.resize, linear.

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


def probe(name: str, timeout: float = 10.0) -> ProbeResult:
    """The result of probing a plugin: whether it can be used on this machine.

    Its packages are imported and its own probe runs in a child process, so nothing that they do
    can harm this one.

    Args:
        name: of an installed plugin.
        timeout: how long the child may take, in seconds.

    Raises:
        UnknownNameError: no plugin of that name is installed.
    """
    # Every plugin imports this module, and few programs probe.
    from ._plugins.probe import examine, find

    return examine(find(name), timeout).result
