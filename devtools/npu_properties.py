# SPDX-License-Identifier: Apache-2.0
"""The reference page of the NPU's properties, written from the tables of samebytes-openvino."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from samebytes_openvino.intel_npu import PLATFORMS, PROPERTIES, Stated

__all__ = ["properties_as_markdown"]

_HEAD = """\
# Properties of OpenVINO's NPU plugin

This page is written from the tables in the code:
`.venv/bin/python -m devtools.npu_properties > docs/reference/npu-properties.md`.

"Document" is the NPU plugin's page in OpenVINO's documentation. "2026.4.1" is what the unmodified
plugin of that version answers on a software NPU of platform 4000; nothing here ran on an NPU. A
row with an asterisk differs. Access is RO (only read), RW, or WO (only written).

`set_properties(core, {...})` and `validate({...})` take keys, C++ names, or the objects of
`openvino.properties`. They refuse what the plugin would take and fail on later.

## Properties
"""

_PLATFORMS = """\
## Platforms

What the plugin chooses for a performance hint, THROUGHPUT / LATENCY, if NPU_TILES is not set.
An empty cell is not known; a platform that is not in the table is `unknown`, and no error. The
document names Ubuntu 22.04, Ubuntu 24.04 and Windows 11 for all four.
"""

_RULES = """\
## Rules

* Read NPU_MAX_TILES before NPU_TILES is set: more tiles than that are an error of the compiler's,
  and are refused here. NPU_TILES overrides the performance hint. Models for another number of
  tiles than 1 may not run on other NPUs.
* NPU_COMPILATION_MODE_PARAMS: `optimization-level` 0 (fast to compile), 1 (default) or 2 (fast to
  run); `performance-hint-override` `efficiency` (default) or `latency`, only with the hint LATENCY.
  `CompilationModeParams` writes and reads the text.
* NPU_COMPILER_TYPE: PREFER_PLUGIN takes the compiler beside the plugin where it is installed and
  serves the platform, and the driver's elsewhere, as on Meteor Lake. What PLUGIN compiles needs a
  driver from 2565 on. PLUGIN and DRIVER are errors where their compiler is missing; the wheel of
  OpenVINO 2026.4.1 has none, so there PLUGIN is refused, and so is another NPU_PLATFORM than the
  machine's: compiling for a device that is not there needs PLUGIN.
* Two caches keep compiled models. The driver's is on by default; NPU_BYPASS_UMD_CACHING turns it
  off for a model. OpenVINO's is on when CACHE_DIR is set, which bypasses the driver's; a model that
  it has is imported and not compiled.
* First ever inference latency (FEIL) is compilation, loading and the first inference; first
  inference latency (FIL) is loading a compiled model and the first inference. `measure_latency()`
  gives both.
* OPTIMAL_NUMBER_OF_INFER_REQUESTS is the same for all models. How many requests are best depends on
  the model: measure.
* The plugin uses one NPU. All requests of a model share one command queue, and each has a command
  list of its own; several may run at once, from one thread or many. `start_async()` returns at
  once; `wait()`, or a callback, reports the end.
* Dynamic shapes are not supported: `check_static()` says so before the compiler does.
* State variables are copied when they are got or set: `get_states()`, `set_states()` and
  `reset_states()` reach them. By the document the plugin copies them at each inference as well: the
  state's buffer to an input of the device, and the output back. That of 2026.4.1 does not: the
  driver's trace shows one buffer as input and output.
* Set on a compiled model, MODEL_PRIORITY and WORKLOAD_TYPE act at once. All other properties of a
  compiled model are only read.
"""


def properties_as_markdown() -> str:
    """The whole page."""
    rows = ["| key | C++ | type | document | 2026.4.1 | what it is |", "|---|---|---|---|---|---|"]
    for row in PROPERTIES.values():
        star = " *" if row.differs else ""
        seen = _stated(row.observed) + (
            "" if row.listed or row.observed is None else ", not listed"
        )
        if row.observed is None:
            seen = "unsupported"
        rows.append(
            f"| {row.key}{star} | {row.name} | {row.kind.name} | {_stated(row.document)} | {seen} "
            f"| {row.description} |"
        )
    platforms = [
        "| platform | processors | tiles | of | DMA engines | optimal requests |",
        "|---|---|---|---|---|---|",
    ]
    for found in PLATFORMS.values():
        of = " or ".join(map(str, found.total_tiles or ()))
        product = found.product if found.product != "unknown" else ""
        platforms.append(
            f"| {found.name} | {product} | {_numbers(found.tiles)} | {of} | "
            f"{_numbers(found.dma_engines)} | {_numbers(found.requests)} |"
        )
    parts = (_HEAD, "\n".join(rows), "", _PLATFORMS, "\n".join(platforms), "", _RULES)
    return "\n".join(parts)


def _stated(stated: Stated | None) -> str:
    if stated is None:
        return "-"
    parts: list[str] = [stated.access]
    if stated.values:
        parts.append(stated.values)
    if stated.default != "":
        names = {True: "YES", False: "NO"} if isinstance(stated.default, bool) else {}
        parts.append(f"default {names.get(stated.default, stated.default)}")
    return "; ".join(parts)


def _numbers(numbers: Mapping[Any, int] | None) -> str:
    return f"{numbers['THROUGHPUT']} / {numbers['LATENCY']}" if numbers else ""


if __name__ == "__main__":
    sys.stdout.write(properties_as_markdown())
