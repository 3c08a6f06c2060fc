# SPDX-License-Identifier: Apache-2.0
"""Compiled models for layouts of frames, each made once and kept while it is used."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from samebytes import ImageInfo
from samebytes.metadata import AffineTransform
from samebytes.plugins import KeyLocks, Lock

from .._remote._context import RemoteContext
from .._request._compiled import CompiledModel, compile_model
from ._build import Built, Source, build
from ._model_input import Target

if TYPE_CHECKING:
    from ._batches import Parts

__all__ = ["Known", "Plan", "Plans", "kind_of"]

# A stream has one layout. Eight are enough for a model that serves several.
_KEPT = 8
# Frames that differ in what the model does not see, such as padding, share a plan.
_MOST_KNOWN = 64


@dataclass(slots=True, eq=False, repr=False)
class Plan:
    """A compiled model for frames of one layout.

    Attributes:
        names: those of its inputs, in the order of the planes; in a batch, one frame after another.
        gathers, tables: see `Built`.
        used: the number of its last use, counted over all plans.
    """

    compiled: CompiledModel
    source: Source
    names: tuple[str, ...]
    gathers: bool
    tables: tuple[str, ...] = ()
    used: int = 0

    def inputs_of(self, number: int) -> range:
        """The numbers of the inputs for one frame of the batch."""
        planes = len(self.source.pitches)
        return range(number * planes, (number + 1) * planes)


@dataclass(slots=True, eq=False, repr=False)
class Known:
    """The plan for frames of one layout and meaning, found once for all of them.

    Attributes:
        info: of the frames; others may have the same names and numbers.
        source: the layout of their planes.
        plan: the compiled model that takes them.
        transform: from the model's image to their picture, both normalised.
        context: of the device that has their memory; None for memory of the CPU.
        shapes: the openvino.Shape of the model's input for each plane.
    """

    info: ImageInfo
    source: Source
    plan: Plan
    transform: AffineTransform
    context: RemoteContext | None
    shapes: tuple[Any, ...]


class Plans:
    """The plans of one image model. Threads may share it.

    Args:
        model: an openvino.Model with one image input, whose size `target` has.
        device: the name of OpenVINO's, or a context.
        batch: how many frames one inference takes.
        parts: the parts of one frame that it takes in their place.
    """

    def __init__(
        self,
        model: Any,
        target: Target,
        device: str | RemoteContext,
        config: Mapping[Any, Any] | None,
        core: Any,
        batch: int,
        parts: Parts | None = None,
    ) -> None:
        self._batch = batch
        self._parts = parts
        self._model = model
        self._target = target
        self._device = device
        self._config = config
        self._core = core
        self._plans: dict[Hashable, Plan] = {}
        # Looked up for each frame, and so without a lock, by keys that hash without a call.
        self._known: dict[Hashable, Known] = {}
        self._uses = count()
        self._compiling = KeyLocks()
        self._lock = Lock()

    def plan_for(self, source: Source, context: RemoteContext | None) -> Plan:
        """The plan for such frames, compiled if need be.

        Args:
            context: on which to compile; None for the device of the model.

        Raises:
            The errors of `build` and `compile_model`.
        """
        key = source, context
        found = self._find(key)
        if found is None:
            # A compilation takes seconds, and the memory of the model once more.
            with self._compiling.of(key):
                found = self._find(key)
                if found is None:
                    found = self._compile(source, context)
                    self._keep(key, found)
        return found

    def known(self, key: Hashable, info: ImageInfo) -> Known | None:
        """The entry that `remember` was given for such frames, while their plan is kept."""
        found = self._known.get(key)
        if found is None or (found.info is not info and found.info != info):
            return None
        found.plan.used = next(self._uses)
        return found

    def remember(self, key: Hashable, known: Known) -> None:
        """Keep an entry for frames, for as long as their plan is kept.

        Args:
            key: names and numbers that such frames share, and no others.
            known: what was found out about them.
        """
        with self._lock:
            if known.plan in self._plans.values():  # else it was dropped meanwhile
                if len(self._known) >= _MOST_KNOWN:
                    self._known = {}
                self._known[key] = known

    def _find(self, key: Hashable) -> Plan | None:
        with self._lock:
            found = self._plans.get(key)
            if found is not None:
                found.used = next(self._uses)
            return found

    def _keep(self, key: Hashable, plan: Plan) -> None:
        dropped = before = None
        with self._lock:
            if len(self._plans) >= _KEPT:
                oldest = min(self._plans, key=lambda k: self._plans[k].used)
                dropped = self._plans.pop(oldest)
                before, self._known = self._known, {}
            plan.used = next(self._uses)
            self._plans[key] = plan
        del dropped, before  # after the lock, since OpenVINO unloads the model

    def _compile(self, source: Source, context: RemoteContext | None) -> Plan:
        device = self._device if context is None else context
        core = self._core if context is None else None
        built = self._built(source, kind_of(device) not in ("GPU", "NPU"))
        compiled = compile_model(built.model, device, self._config, core)
        return Plan(compiled, source, built.names, built.gathers, built.tables)

    def _built(self, source: Source, on_cpu: bool) -> Built:
        if self._parts is None and self._batch == 1:
            return build(self._model, source, self._target, on_cpu)
        from ._batches import build_parts, identity, joined  # few models take several pictures

        if self._parts is not None:
            return build_parts(self._model, source, self._target, self._parts)
        built = build(identity(self._model), source, self._target, on_cpu)
        model = joined(self._model, self._batch, built.model)
        return built._replace(model=model, names=tuple(port.any_name for port in model.inputs))


def kind_of(device: str | RemoteContext) -> str:
    """ "CPU", "GPU", "NPU" or what else OpenVINO calls a device, without its number."""
    name = device if isinstance(device, str) else device.device_name
    return name.partition(":")[0].partition(".")[0]
