# SPDX-License-Identifier: Apache-2.0
"""PluginSuite: the rules for what a plugin declares."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, ClassVar

import pytest

from samebytes import Context, Frame, MemoryMapper, Tensor
from samebytes.plugins import API, Plugin, ProbeResult

from .._plugins.discovery import listed
from ._objects import choose_tests

__all__ = ["PluginSuite"]

FRAMEWORKS = (
    "av", "cupy", "cv2", "dpctl", "gi", "jax", "level_zero", "onnxruntime", "openvino",
    "pyopencl", "tensorflow", "torch",
)  # fmt: skip


class PluginSuite:
    """Inherit it once for each plugin.

    Class attributes:
        plugin: the name of its entry point in the group "samebytes.plugins".
        frameworks: more modules that declaring must not import.
        probes: it has a probe; without one, importable is usable.
    """

    plugin: ClassVar[str]
    frameworks: ClassVar[tuple[str, ...]] = ()
    probes: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        choose_tests(cls, PluginSuite, test_probe=cls.probes)

    def module_name(self) -> str:
        """The declaring module, from the entry point."""
        (entry,) = entry_points(group="samebytes.plugins", name=self.plugin)
        return entry.value

    def module(self) -> ModuleType:
        """The declaring module, imported."""
        return importlib.import_module(self.module_name())

    def test_declaring_is_light(self) -> None:
        """Rule 6: a fresh process that imports the declaring module has imported no framework."""
        watched = (*FRAMEWORKS, *self.frameworks)
        code = (
            f"import sys, {self.module_name()}\n"
            f"print(*[name for name in {watched!r} if name in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [], "the declaring module imports these"

    def test_plugin(self) -> None:
        """It says for which plugin API it was written, and what it is."""
        plugin = self.module().PLUGIN
        assert isinstance(plugin, Plugin)
        assert plugin.api[0] == API[0]
        assert plugin.summary
        for name, command in plugin.packages.items():
            assert name.isidentifier()
            assert command, f"no command that installs {name}"

    def test_what_it_names_is_there(self) -> None:
        """Every "module:Class" leads to a class of the right kind, with docstrings.

        Skipped, after the rest was checked, where the module of an edge imports a plugin that the
        edge requires and that is not installed.
        """
        module, unmet, missing = self.module(), self._unmet(), list[str]()
        for native in _declared(module, "samebytes_tensors"):
            kind = Frame if native.level == "frame" else Tensor
            assert issubclass(_load(native.wraps), kind)
        for context in _declared(module, "samebytes_contexts"):
            cls = _load(context.context)
            assert issubclass(cls, Context)
            assert cls.node == context.node
            assert cls.memory_type == context.node.partition(":")[0]
        for mapper in _declared(module, "samebytes_mappers"):
            try:
                cls = _load(mapper.mapper)
            except ImportError as error:
                name = (error.name or "").partition(".")[0]
                if mapper.mapper not in unmet or name == module.__name__.partition(".")[0]:
                    raise
                missing.append(f"missing package {name}: {unmet[mapper.mapper]}")
                continue
            assert issubclass(cls, MemoryMapper)
            assert cls.connect is not MemoryMapper.connect
            assert mapper.summary
            assert cls.__slots__ is not MemoryMapper.__slots__, f"{cls.__name__} has no __slots__"
        if missing:
            pytest.skip("; ".join(dict.fromkeys(missing)))

    def _unmet(self) -> dict[str, str]:
        """The mappers that cannot be used, and why."""
        own = [e for e in listed().edges if e.plugin == self.plugin]
        return {e.spec.mapper: e.missing for e in own if e.missing is not None}

    def test_native_types_are_spelled_as_they_spell_themselves(self) -> None:
        """A native type is found by the name that its __module__ and __qualname__ give."""
        for native in _declared(self.module(), "samebytes_tensors"):
            module_name, _, name = native.native.rpartition(".")
            type_ = getattr(importlib.import_module(module_name), name)
            assert f"{type_.__module__}.{type_.__qualname__}" == native.native

    def test_probe(self) -> None:
        """The probe answers; a no comes with its reason and a hint."""
        probe = self.module().PLUGIN.probe
        assert probe is not None
        result = _load(probe)()
        assert isinstance(result, ProbeResult)
        assert result.reason
        assert result.usable or result.hint


def _declared(module: ModuleType, hook: str) -> list[Any]:
    function = getattr(module, hook, None)
    return list(function()) if function is not None else []


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
