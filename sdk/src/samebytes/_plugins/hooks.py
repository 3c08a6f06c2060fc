# SPDX-License-Identifier: Apache-2.0
"""The hook specifications. Their implementations return data and are called once."""

from __future__ import annotations

import pluggy

from .specs import ContextSpec, ConverterSpec, ElementSpec, MapperSpec, NativeSpec, ProtocolSpec

__all__ = ["PROJECT", "hookimpl"]

PROJECT = "samebytes"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a plugin's hook implementations."""


@hookspec
def samebytes_tensors() -> list[NativeSpec]:  # type: ignore[empty-body]  # a declaration
    """The native types that `tensor()`, `frame()` and `wrap()` take, with their classes."""


@hookspec
def samebytes_protocols() -> list[ProtocolSpec]:  # type: ignore[empty-body]  # a declaration
    """The protocols by which objects of any type are known, with the classes that wrap them."""


@hookspec
def samebytes_contexts() -> list[ContextSpec]:  # type: ignore[empty-body]  # a declaration
    """The kinds of context, each a node of the routes."""


@hookspec
def samebytes_mappers() -> list[MapperSpec]:  # type: ignore[empty-body]  # a declaration
    """The edges between nodes."""


@hookspec
def samebytes_elements() -> list[ElementSpec]:  # type: ignore[empty-body]  # a declaration
    """The elements of pipelines, by name. Since API (1, 1)."""


@hookspec
def samebytes_converters() -> list[ConverterSpec]:  # type: ignore[empty-body]  # a declaration
    """The converters of pictures from which `Frame.convert` chooses. Since API (1, 2)."""
