# SPDX-License-Identifier: Apache-2.0
"""A plugin that works, beside plugins that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import samebytes as sb

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdk.tests.conftest import Site

__all__ = ["reason"]


@pytest.fixture
def reason(site: Site) -> Callable[[str], str]:
    """A function that returns why a plugin was set aside, and checks that the others still work."""
    site.plugin(
        "zulu",
        """
@hookimpl
def samebytes_contexts():
    return [ContextSpec(node="zulu", context="samebytes._cpu.context:CpuContext")]
""",
    )

    def look(name: str) -> str:
        plugins = {p.name: p for p in sb.installed_plugins()}
        assert plugins["zulu"].state == "ready"
        assert plugins["cpu"].state == "ready"
        sb.context("zulu")
        sb.tensor(np.zeros(4)).map("cpu")
        assert plugins[name].state == "set aside"
        assert (plugins[name].memory_types, plugins[name].edges) == ((), ())
        return plugins[name].error

    return look
