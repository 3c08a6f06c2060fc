# SPDX-License-Identifier: Apache-2.0
"""Formats of surfaces: drivers lay planes out as samebytes says."""

from __future__ import annotations

import numpy as np
import pytest

import samebytes
from samebytes import ImageInfo
from samebytes.errors import UnknownNameError
from samebytes.formats import known_formats
from samebytes_vaapi import VAAPIContext, VAError


def test_unknown_formats_name_the_nearest(context: VAAPIContext) -> None:
    with pytest.raises(UnknownNameError) as caught:
        context.allocate_frame("BGR", 64, 32)
    assert "BGRX" in caught.value.nearest


@pytest.mark.usefixtures("dma_plugin")
def test_the_driver_lays_planes_out_so(context: VAAPIContext) -> None:
    """Pixels that were put into a surface of odd padding are found where the layout says."""
    tested = []
    for name in (format_.name for format_ in known_formats()):
        info = ImageInfo.of(name, 38, 22)
        try:
            context.allocate_frame(info.format, info.width, info.height).close()
        except (VAError, UnknownNameError):
            continue  # not every driver has every format, nor has VA-API
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
