# SPDX-License-Identifier: Apache-2.0
"""The declarations of the toy of elements."""

from __future__ import annotations

import os

from samebytes.plugins import ElementSpec, Plugin, hookimpl

PLUGIN = Plugin(api=(1, 1), summary="a toy of elements")


@hookimpl
def samebytes_elements() -> list[ElementSpec]:
    """Some of each kind."""
    summary = "" if os.environ.get("TOY_FAULT") == "no summary" else "a toy"
    return [
        ElementSpec(name=f"bits.{name.lower()}", element=f"bits_elements:{name}", summary=summary)
        for name in ("Count", "Add", "Mean", "Half", "Keep", "Twice", "Delay", "fade")
    ]
