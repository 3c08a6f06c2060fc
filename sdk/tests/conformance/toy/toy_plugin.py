# SPDX-License-Identifier: Apache-2.0
"""The declarations of the toy."""

from __future__ import annotations

import os

from samebytes import Transfer
from samebytes.plugins import API, ContextSpec, MapperSpec, NativeSpec, Plugin, hookimpl

FAULT = os.environ.get("TOY_FAULT", "none")

if FAULT == "a heavy declaration":
    __import__("toy_framework")

PLUGIN = Plugin(api=API, summary="a toy")


@hookimpl
def samebytes_tensors() -> list[NativeSpec]:
    name = "toy_framework.buffer" if FAULT == "a misspelt type" else "toy_framework.Buffer"
    wraps = "ToyTensors" if FAULT == "a class that is not there" else "ToyTensor"
    if FAULT == "a hook that raises":
        raise TypeError("NativeSpec() got an unexpected keyword argument")
    return [
        NativeSpec(native=name, wraps=f"toy_framework:{wraps}", level="tensor"),
        NativeSpec(native="toy_framework.Chip", wraps="toy_framework:ChipTensor", level="tensor"),
    ]


@hookimpl
def samebytes_contexts() -> list[ContextSpec]:
    return [
        ContextSpec(node="toy", context="toy_framework:ToyContext"),
        ContextSpec(
            node="chip", context="toy_framework:ChipContext", devices="toy_framework:chip_names"
        ),
    ]


@hookimpl
def samebytes_mappers() -> list[MapperSpec]:
    return [
        MapperSpec(
            source="cpu",
            target="toy",
            mapper="toy_framework:CpuToToy",
            transfer=Transfer.COPY if FAULT == "a wrong declaration" else Transfer.ALIAS,
            summary="a Buffer over the array",
        ),
        *(
            [
                MapperSpec(
                    source="cpu",
                    target="toy",
                    mapper="toy_framework:SwappedToToy",
                    transfer=Transfer.ALIAS,
                    summary="the wrong way round",
                    level="frame",
                )
            ]
            if FAULT == "swapped planes"
            else []
        ),
        *(
            [
                MapperSpec(
                    source="cpu",
                    target="toy",
                    mapper="toy_framework:PlanesToToy",
                    transfer=Transfer.MAP,
                    summary="each plane in memory of its own",
                    level="frame",
                )
            ]
            if "plane" in FAULT and FAULT != "swapped planes"
            else []
        ),
        MapperSpec(
            source="cpu",
            target="chip",
            mapper="toy_framework:CpuToChip",
            transfer=Transfer.COPY,
            summary="a Chip with the same values",
            access=("r",),
        ),
        MapperSpec(
            source="chip",
            target="cpu",
            mapper="toy_framework:ChipToCpu",
            transfer=Transfer.COPY,
            summary="an array with the same values",
            access=("r",),
        ),
    ]
