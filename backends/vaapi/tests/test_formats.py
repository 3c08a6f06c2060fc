# SPDX-License-Identifier: Apache-2.0
"""Formats: the table, and that drivers lay planes out as it says."""

from __future__ import annotations

import numpy as np
import pytest

import samebytes
from samebytes import ImageInfo
from samebytes.errors import UnknownNameError
from samebytes_vaapi import VAAPIContext, VAError
from samebytes_vaapi._formats import FORMATS, format_of, fourcc_text, name_of


@pytest.mark.parametrize("name", FORMATS)
def test_each_is_a_format_of_samebytes(name: str) -> None:
    image = samebytes.formats.image_format(name)
    assert image.name == name
    assert name_of(format_of(image).fourcc) == name


def test_no_code_has_two_names() -> None:
    codes = [format_.fourcc for format_ in FORMATS.values()]
    assert len(set(codes)) == len(codes)


def test_names_of_codes() -> None:
    assert name_of(int.from_bytes(b"IYUV", "little")) == "I420"
    assert name_of(int.from_bytes(b"NV11", "little")) is None
    assert fourcc_text(int.from_bytes(b"NV11", "little")) == "'NV11'"
    assert fourcc_text(int.from_bytes(b"422H", "little")) == "I422"


def test_unknown_formats_name_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        format_of(samebytes.formats.image_format("BGR"))
    assert "BGRX" in caught.value.nearest


@pytest.mark.usefixtures("dma_plugin")
def test_the_driver_lays_planes_out_so(context: VAAPIContext) -> None:
    """What was put into a surface of odd padding is found where the layout says."""
    tested = []
    for name in FORMATS:
        info = ImageInfo.of(name, 38, 22)
        try:
            context.allocate_frame(info.format, info.width, info.height).close()
        except VAError:
            continue  # not every driver has every format
        tested.append(name)
        source = samebytes.context("cpu").allocate_frame(info.format, info.width, info.height)
        for number, plane in enumerate(source):
            plane.native[...] = (np.arange(plane.info.size) * 7 + number).reshape(plane.shape)
        surface = source.map(context, copy=True)
        assert surface.image == info
        for view in (surface.map("dma").map("cpu"), surface.map("cpu")):
            for ours, theirs in zip(source, view, strict=True):
                np.testing.assert_array_equal(ours.native, theirs.native)
    assert "NV12" in tested
