# SPDX-License-Identifier: Apache-2.0
"""The declarations of a plugin: data only, so that declaring imports no framework.

Classes are named by strings "module:Class" and imported when first used.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from .._core.edges.edge import MapperSpec
from .._frozen import frozen
from ..errors import PluginDeprecationWarning

__all__ = [
    "API",
    "ContextSpec",
    "ConverterSpec",
    "ElementSpec",
    "MapperSpec",
    "NativeSpec",
    "Plugin",
    "ProbeResult",
    "ProtocolSpec",
]

API = (1, 2)
"""The plugin API of this samebytes: (major, minor)."""


@frozen(kw_only=True)
class Plugin:
    """The plugin itself; its module holds one, named PLUGIN.

    Attributes:
        api: the plugin API it was written for, (major, minor).
        summary: one line for `samebytes list`.
        packages: the modules it cannot work without, each with the command that installs it,
            for instance {"av": 'pip install "samebytes[ffmpeg]"'}.
        probe: "module:function" without arguments that returns a ProbeResult: can it be used on
            this machine? Run in a child process with a time limit. None: importable is usable.
    """

    api: tuple[int, int]
    summary: str
    packages: Mapping[str, str] = field(default_factory=dict)
    probe: str | None = None


@frozen(kw_only=True)
class NativeSpec:
    """A native type and the class that wraps it.

    Attributes:
        native: the type's full name, "module.qualified.Name", as its __module__ and __qualname__
            spell it. Subclasses are found too.
        wraps: "module:Class", a Tensor or Frame class with a `wrap(native)`.
        level: "tensor" or "frame".
    """

    native: str
    wraps: str
    level: Literal["tensor", "frame"]


@frozen(kw_only=True)
class ProtocolSpec:
    """Objects that are known by a protocol and not by their type, and the class that wraps them.

    Array libraries have one type for the memory of all devices. The device that an object reports
    by DLPack decides; an object without DLPack is known by its attribute. A NativeSpec for its type
    comes first.

    Attributes:
        wraps: "module:Class", a Tensor class with a `wrap(native)`.
        dlpack_devices: the device types, numbers of DLDeviceType in dlpack.h, as
            `__dlpack_device__` gives them. The CPU's own, 1, cannot be claimed.
        attribute: the attribute that such objects have, for instance "__cuda_array_interface__".
    """

    wraps: str
    dlpack_devices: tuple[int, ...] = ()
    attribute: str | None = None


@frozen(kw_only=True)
class ContextSpec:
    """A kind of context, which is a node of the routes.

    Attributes:
        node: a memory type, or "type:KIND" ("openvino:GPU").
        context: "module:Class", a Context class.
        derives_from: the nodes whose contexts `derive()` can start from.
        allows_deriving: the other direction, for nodes of others: those that can derive from this
            one, since its contexts have the handles that they take. So a plugin is joined to nodes
            that were declared before it was written.
        lends_to: the former name of `allows_deriving`. Deprecated; both are followed.
        transit: routes may lead through such a context. False where going through it never helps:
            a framework that wraps memory of others, whose edges only start or end there. It is
            then not loaded for mappings between others, except by `route(via=...)`.
        devices: "module:function" that lists the names of the devices, for instance
            ("GPU.0", "GPU.1"); None if there is no choice.
        level: the level that users mostly map here; `route()` between two names shows that level.
    """

    node: str
    context: str
    derives_from: tuple[str, ...] = ()
    allows_deriving: tuple[str, ...] = ()
    lends_to: tuple[str, ...] = ()
    transit: bool = True
    devices: str | None = None
    level: Literal["tensor", "frame"] = "tensor"

    def __post_init__(self) -> None:
        if self.lends_to:
            warnings.warn(
                f"ContextSpec of {self.node!r}: lends_to is now called allows_deriving",
                PluginDeprecationWarning,
                stacklevel=3,  # 1 is this method, 2 the generated __init__
            )


@frozen(kw_only=True)
class ElementSpec:
    """An element of pipelines that `samebytes.elements.create` makes by its name. Since API (1, 1).

    Attributes:
        name: what users write: the plugin's name, a dot and the element's, "ffmpeg.source".
        element: "module:Class", a class of samebytes.elements.
        summary: one line for lists.
    """

    name: str
    element: str
    summary: str = ""


@frozen(kw_only=True)
class ConverterSpec:
    """A converter of pictures, which `Frame.convert` may choose. Since API (1, 2).

    Of the converters that can convert a frame, and read it without a copy, the one with the least
    cost is used, that of the route included; ties are decided by the names of the plugins.

    Attributes:
        node: the node where it reads frames: "cpu".
        converter: "module:Class", a subclass of `Conversion`.
        gives: the node of its pictures: "cpu", or the same as `node` for a device that converts its
            own. Such a converter is only used for frames that are on the device, unless it is asked
            for.
        cost: the cost of one conversion, relative to other converters; a copy costs 10,000.
        summary: one line that names the converter: "libswscale".
        planes: "module:function" for `plane_resizer`, resize(source, target), which resizes one
            plane into the memory of another; both are numpy arrays of (rows, columns) or (rows,
            columns, channels). "" if there is none.
    """

    node: str
    converter: str
    gives: str = "cpu"
    cost: float = 1_000.0
    summary: str = ""
    planes: str = ""


@frozen(kw_only=True)
class ProbeResult:
    """The result of a probe: whether a plugin can be used on this machine.

    Attributes:
        usable: True if it can be used.
        reason: the reason why not, or the findings.
        hint: the remedy: a command, or a sentence.
        details: versions, devices, paths.
    """

    usable: bool
    reason: str = ""
    hint: str = ""
    details: Mapping[str, str] = field(default_factory=dict)
