# SPDX-License-Identifier: Apache-2.0
"""What the author of a plugin imports.

A plugin is a module named by an entry point of the group `samebytes.plugins`. It holds a
`PLUGIN` and hook implementations that return data; importing it must not import its framework.
The classes it names are imported when first used; they are made from the rest of this module.
"""

from __future__ import annotations

from ._core.access import Access, check_access
from ._core.address import data_address
from ._core.context import Context, HostContext, Level, intern
from ._core.device import CPU_DEVICE, Device
from ._core.edge import MapperSpec, Transfer
from ._core.fd import Fd
from ._core.frame import Frame
from ._core.frame_meta import FrameMeta, Region
from ._core.handles import (
    DRM_FORMAT_MOD_INVALID,
    DRM_FORMAT_MOD_LINEAR,
    HandleKey,
    check_handle_key,
    is_linear_modifier,
    register_handle_key,
)
from ._core.info import TensorInfo, dense_strides
from ._core.mapper import MemoryMapper, Refused
from ._core.ordering import ordering_queue
from ._core.storage import Storage
from ._core.tensor import Tensor
from ._cpu.tensor import CpuTensor
from ._dtypes import DType, dtype
from ._exchange import to_capsule as dlpack_capsule
from ._plugins.hooks import hookimpl
from ._plugins.specs import (
    API,
    ContextSpec,
    NativeSpec,
    Plugin,
    PluginDeprecationWarning,
    ProbeResult,
)
from ._stats import count_copy

__all__ = [
    "API",
    "CPU_DEVICE",
    "DRM_FORMAT_MOD_INVALID",
    "DRM_FORMAT_MOD_LINEAR",
    "Access",
    "Context",
    "ContextSpec",
    "CpuTensor",
    "DType",
    "Device",
    "Fd",
    "Frame",
    "FrameMeta",
    "HandleKey",
    "HostContext",
    "Level",
    "MapperSpec",
    "MemoryMapper",
    "NativeSpec",
    "Plugin",
    "PluginDeprecationWarning",
    "ProbeResult",
    "Refused",
    "Region",
    "Storage",
    "Tensor",
    "TensorInfo",
    "Transfer",
    "check_access",
    "check_handle_key",
    "count_copy",
    "data_address",
    "dense_strides",
    "dlpack_capsule",
    "dtype",
    "hookimpl",
    "intern",
    "is_linear_modifier",
    "ordering_queue",
    "probe",
    "register_handle_key",
]


def probe(name: str, timeout: float = 10.0) -> ProbeResult:
    """Whether a plugin can be used on this machine.

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
