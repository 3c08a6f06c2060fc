# SPDX-License-Identifier: Apache-2.0
"""Python and the C code declare the same as the headers of libva and libdrm."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from samebytes_softdevices import _va_abi

CODES = Path(__file__).parents[2] / "csrc" / "va" / "drm_codes.h"
FOURCC = Path("/usr/include/libdrm/drm_fourcc.h")


def evaluate(folder: Path, includes: list[str], expressions: list[str]) -> list[int]:
    """Give the values of C expressions."""
    if shutil.which("gcc") is None:
        pytest.skip("missing package gcc: apt install gcc")
    source = folder / "print.c"
    lines = [f"#include {name}" for name in ("<stdio.h>", "<stddef.h>", *includes)]
    prints = [f'printf("%lld\\n", (long long)({text}));' for text in expressions]
    source.write_text("\n".join([*lines, "int main(void) {", *prints, "return 0; }"]))
    program = folder / "print"
    subprocess.run(
        ["gcc", "-I/usr/include/libdrm", str(source), "-o", str(program)], check=True, timeout=60
    )
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True, timeout=60)
    return [int(line) for line in done.stdout.split()]


def test_python_declares_what_libvas_headers_declare(tmp_path: Path) -> None:
    if not Path("/usr/include/va/va_drmcommon.h").is_file():
        pytest.skip("missing package libva-dev: apt install libva-dev")
    descriptor, attribute = _va_abi.SurfaceDescriptor, _va_abi.SurfaceAttribute
    layer = descriptor.layers.offset + descriptor.layers.size // 4
    # ctypes' descriptors of fields have no types.
    pairs: list[tuple[str, int]] = [
        ("sizeof(VADRMPRIMESurfaceDescriptor)", ctypes.sizeof(descriptor)),
        ("sizeof(VASurfaceAttrib)", ctypes.sizeof(attribute)),
        ("offsetof(VASurfaceAttrib, value.type)", attribute.value.offset),
        ("offsetof(VASurfaceAttrib, value.value)", attribute.value.offset + 8),
        ("offsetof(VADRMPRIMESurfaceDescriptor, objects)", descriptor.objects.offset),
        ("offsetof(VADRMPRIMESurfaceDescriptor, num_layers)", descriptor.num_layers.offset),
        ("offsetof(VADRMPRIMESurfaceDescriptor, layers[1])", layer),
        ("offsetof(VADRMPRIMESurfaceDescriptor, layers[1].pitch)", layer + 40),
        ("VA_STATUS_SUCCESS", _va_abi.SUCCESS),
        ("VA_EXPORT_SURFACE_READ_WRITE", _va_abi.EXPORT_READ_WRITE),
        ("VA_EXPORT_SURFACE_SEPARATE_LAYERS", _va_abi.EXPORT_SEPARATE_LAYERS),
        ("VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2", _va_abi.MEM_TYPE_DRM_PRIME_2),
        ("VASurfaceAttribPixelFormat", _va_abi.pixel_format("NV12").type),
        ("VA_SURFACE_ATTRIB_SETTABLE", _va_abi.pixel_format("NV12").flags),
        ("VAGenericValueTypeInteger", _va_abi.pixel_format("NV12").value.type),
        ("VA_FOURCC_NV12", _va_abi.pixel_format("NV12").value.value.i),
    ]
    includes = ["<va/va.h>", "<va/va_drmcommon.h>"]
    found = evaluate(tmp_path, includes, [text for text, _ in pairs])
    assert dict(zip([text for text, _ in pairs], found, strict=True)) == dict(pairs)


@pytest.mark.skipif(
    not CODES.is_file(),
    reason="the C sources lie in the repository, and this is a test of the wheel",
)
def test_the_driver_declares_what_libdrms_header_declares(tmp_path: Path) -> None:
    if not FOURCC.is_file():
        pytest.skip("missing package libdrm-dev: apt install libdrm-dev")
    pairs = {
        "SOFTVA_DRM_R8": "DRM_FORMAT_R8",
        "SOFTVA_DRM_GR88": "DRM_FORMAT_GR88",
        "SOFTVA_DRM_R16": "DRM_FORMAT_R16",
        "SOFTVA_DRM_GR1616": "DRM_FORMAT_GR1616",
        "SOFTVA_MODIFIER_LINEAR": "DRM_FORMAT_MOD_LINEAR",
        "SOFTVA_MODIFIER_INVALID": "DRM_FORMAT_MOD_INVALID",
        "SOFTVA_MODIFIER_Y_TILED": "I915_FORMAT_MOD_Y_TILED",
    }
    includes = ["<stdint.h>", f'"{CODES}"', "<drm_fourcc.h>"]
    same = [f"{ours} == {theirs}" for ours, theirs in pairs.items()]
    assert evaluate(tmp_path, includes, same) == [1] * len(pairs)
