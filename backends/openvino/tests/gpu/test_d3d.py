# SPDX-License-Identifier: Apache-2.0
"""D3DContext away from Windows: it builds its maps, and says where it can be used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from samebytes.errors import UnsupportedObjectError
from samebytes_openvino.intel_gpu import D3DContext, PropertyError, _creation, _properties


@pytest.fixture
def maps(context: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """What a method of D3DContext passes to OpenVINO, on a ClContext and as on Windows."""
    seen: list[Any] = []

    def make(self: Any, properties: Any, element: Any, extents: Any) -> Any:
        seen.append((dict(properties), element.to_string(), list(extents)))
        return self.native.create_tensor(element, extents, {})

    windows = _properties.surface
    monkeypatch.setattr(_creation.TensorMaker, "make_native", make)
    monkeypatch.setattr(_properties, "surface", lambda o, p: windows(o, p, windows=True))

    def call(use: Callable[[Any, Any], Any]) -> list[Any]:
        use(D3DContext, context)
        return seen

    return call


@pytest.mark.skipif(sys.platform == "win32", reason="this is what other systems say")
def test_it_is_for_windows() -> None:
    with pytest.raises(UnsupportedObjectError, match="D3DContext is for Windows"):
        D3DContext.from_device(0x1000)
    with pytest.raises(PropertyError, match="VA_DEVICE: this ID3D11Device is null"):
        D3DContext.from_device(0)


def test_buffers(maps: Any) -> None:
    def use(kind: Any, context: Any) -> None:
        kind.create_tensor_d3d_buffer(context, "float32", (1, 4), 0x2000)

    assert maps(use) == [
        ({"SHARED_MEM_TYPE": "DX_BUFFER", "DEV_OBJECT_HANDLE": "0x2000"}, "f32", [1, 4])
    ]


def test_textures(maps: Any) -> None:
    def use(kind: Any, context: Any) -> None:
        kind.create_tensor_d3d_texture(context, "uint8", (1, 4, 8, 1), 0x3000)
        kind.create_tensor_d3d_nv12(context, 4, 8, 0x3000)

    surface = {"SHARED_MEM_TYPE": "VA_SURFACE", "DEV_OBJECT_HANDLE": "0x3000"}
    luma = ({**surface, "VA_PLANE": 0}, "u8", [1, 4, 8, 1])
    assert maps(use) == [luma, luma, ({**surface, "VA_PLANE": 1}, "u8", [1, 2, 4, 2])]


def test_what_cannot_be(context: Any) -> None:
    for use, key in (
        (
            lambda: D3DContext.create_tensor_d3d_buffer(context, "uint8", (4,), 0),
            "DEV_OBJECT_HANDLE",
        ),
        (lambda: D3DContext.create_tensor_d3d_nv12(context, 4, 8, 0), "DEV_OBJECT_HANDLE"),
        (lambda: D3DContext.create_tensor_d3d_nv12(context, 3, 8, 0x10), "height"),
        (
            lambda: D3DContext.create_tensor_d3d_texture(context, "uint8", (1, 4, 8, 1), 0x10, 1),
            "VA_PLANE",
        ),
    ):
        with pytest.raises(PropertyError) as error:
            use()
        assert error.value.property == key


def test_the_device(core: Any, context: Any) -> None:
    made = D3DContext(context.native, core, context.device, {"d3d11_device": 0x4000})
    assert made.d3d11_device == 0x4000
