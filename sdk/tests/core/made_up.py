# SPDX-License-Identifier: Apache-2.0
"""Made-up memory types and edges, in place of the plugins that are installed."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import Context, CpuTensor, Device, MemoryMapper, Storage, Transfer
from samebytes._plugins import discovery
from samebytes._plugins.tables import Declarations, PluginRecord, Tables
from samebytes.errors import (
    MissingDependencyError,
    UnsupportedObjectError,
)
from samebytes.plugins import (
    API,
    ContextSpec,
    HostContext,
    MapperSpec,
    Plugin,
    Refused,
    ordering_queue,
)

HERE = __name__


class AlphaTensor(CpuTensor):
    __slots__ = ()


class Alpha(HostContext):
    memory_type = node = "alpha"
    tensor_class = AlphaTensor

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Any:
        return ALPHA


class Beta(HostContext):
    memory_type = node = "beta"
    tensor_class = AlphaTensor

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Any:
        return BETA


ALPHA, BETA = Alpha(), Beta()


class Gpu(Context):
    """A device context: one for each number, derived from Gpu's other kind or made by name."""

    memory_type = "gpu"
    node = "gpu"
    tensor_class = AlphaTensor

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Gpu:
        number = int(device or 0)
        return cls(Device("GPU", str(number)), handles={"cl_context": number + 1}, parent=parent)


class Alias(MemoryMapper):
    """Hands the array on."""

    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        native = item.native
        if isinstance(native, tuple) or access != "r":
            return native, None, None
        view = native.view()
        view.flags.writeable = False
        return view, None, None


class Mapped(Alias):
    """Makes a storage, as a driver's map call does."""

    __slots__ = ()
    released: list[str] = []  # noqa: RUF012 - emptied by the fixture

    def connect(self, item: Any, access: str) -> Any:
        array = item.native
        address = array.__array_interface__["data"][0]
        name = self.spec.name
        storage = Storage(
            lambda: Mapped.released.append(name), address=address, nbytes=array.nbytes
        )
        view = np.asarray(storage).view(array.dtype).reshape(array.shape)
        return view, None, storage


class OnlyEven(Alias):
    """Refuses arrays with an odd number of rows."""

    __slots__ = ()

    def accepts(self, item: Any) -> str | None:
        return "the number of rows is odd" if item.shape[0] % 2 else None


class OutOfReach(Alias):
    """Refuses the memory for whoever brings it."""

    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        raise Refused("the CPU is kept out", out_of_reach=True)


class OtherQueue(Alias):
    """Knows no queues but those of another framework than the one that is mapped to."""

    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        if ordering_queue() is not None:
            raise UnsupportedObjectError("a queue of alpha's is needed")
        return super().connect(item, access)


# As if it were another distribution's: those at the ends of a route are asked for their queues.
OtherQueue.__module__ = "samebytes_other.edges"


class OwnQueue(Alias):
    """Takes any queue."""

    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        ordering_queue()
        return super().connect(item, access)


class QueueAndRefuse(Alias):
    """Takes any queue, and refuses then."""

    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        ordering_queue()
        raise Refused("too late")


class QueueByTheWay(Alias):
    """Takes any queue, and maps other memory before it uses it."""

    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        ordering_queue()
        sb.tensor(item.native.copy()).map("alpha").close()
        return super().connect(item, access)


class Watched(Alias):
    """Tells whether it lives."""

    made: list[weakref.ref[Watched]] = []  # noqa: RUF012 - a test reads the last one

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        Watched.made.append(weakref.ref(self))


class OnlyDense(Alias):
    __slots__ = ()

    def accepts(self, item: Any) -> str | None:
        return None if item.info.is_contiguous else "it is not dense"


class RefusesAll(Alias):
    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        raise Refused("it never takes anything")


class Raises(Alias):
    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        raise ZeroDivisionError


class Copy(MemoryMapper):
    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        native = item.native
        if isinstance(native, tuple):
            return tuple(plane.copy() for plane in native), None, None
        return native.copy(), None, None


class OwnedCopy(Copy):
    """The same, with an owner of what was made."""

    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        native, info, _ = super().connect(item, access)
        return native, info, Storage()


class WrittenBack(Copy):
    """A copy that is written back when it is published, and at its end."""

    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        array = item.native
        copied = array.copy() if access != "w" else np.zeros_like(array)
        back = partial(np.copyto, array, copied)
        address = copied.__array_interface__["data"][0]
        storage = Storage(back, flush=back, address=address, nbytes=array.nbytes, keep=item.storage)
        return np.asarray(storage).view(array.dtype).reshape(array.shape), None, storage


class EvenWrittenBack(WrittenBack):
    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        if item.shape[0] % 2:
            raise Refused("it takes no odd number of rows")
        return super().connect(item, access)


class Discarding(Alias):
    """Makes the contents undefined where every byte is to be written, as OpenCL does."""

    __slots__ = ()

    def connect(self, item: Any, access: str) -> Any:
        if access == "w":
            item.native[...] = 0
        return super().connect(item, access)


class Closing(Alias):
    """Its target is closed while the route is made, as another thread may do."""

    __slots__ = ()

    def __init__(self, spec: MapperSpec, source: Context, target: Context) -> None:
        super().__init__(spec, source, target)
        target.close()


class Broken(MemoryMapper):
    """Making one raises."""

    def __init__(self, *args: object) -> None:
        raise MissingDependencyError("beta", "the package 'beta'", "pip install beta")


def edge(source: str, target: str, kind: type, **more: Any) -> MapperSpec:
    more.setdefault("transfer", Transfer.COPY if kind is Copy else Transfer.ALIAS)
    more.setdefault("summary", kind.__name__)
    return MapperSpec(source=source, target=target, mapper=f"{HERE}:{kind.__name__}", **more)


GPU = {"devices": f"{HERE}:gpu_devices", "derives_from": ("alpha",)}


def install(
    monkeypatch: pytest.MonkeyPatch,
    *mappers: MapperSpec,
    gpu: dict[str, Any] | None = None,
    contexts: tuple[ContextSpec, ...] = (),
) -> None:
    """Replace what was discovered by the CPU backend, these edges, and more contexts than here."""
    monkeypatch.undo()
    sb.refresh()
    found = Tables()
    found.add(discovery.tables().plugins["cpu"])
    contexts += tuple(
        ContextSpec(node=n, context=f"{HERE}:{c}", **more)
        for n, c, more in (
            ("alpha", "Alpha", {}),
            ("beta", "Beta", {"level": "frame"}),
            ("gpu", "Gpu", {**GPU, **(gpu or {})}),
        )
    )
    plugin = Plugin(api=API, summary="made up")
    found.add(
        PluginRecord(
            "made-up", "made-up-dist", "1.5", HERE, plugin, Declarations((), contexts, mappers)
        )
    )
    found.link()
    monkeypatch.setattr(discovery._found, "tables", found)
    forget()


def forget() -> None:
    for context in (sb.context("cpu"), ALPHA, BETA):
        context.forget_routes()


def gpu_devices() -> tuple[str, ...]:
    return ("0", "1")
