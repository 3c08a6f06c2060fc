# SPDX-License-Identifier: Apache-2.0
"""close() of frames of devices over memory that was mapped on the way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import samebytes as sb

pytestmark = pytest.mark.usefixtures("vaapi", "vaapi_plugin", "dma_plugin")


class TestClosingWhatWasMappedOnTheWay:
    """From a surface of VA-API, by a DMA-BUF that map() exported: close() ends that."""

    def _mapped(self) -> sb.Frame:
        frame = sb.context("ffmpeg:VAAPI").allocate_frame("NV12", 64, 48)
        mapped = frame.map("ffmpeg:DRM", "rw")
        with sb.frame(mapped.native).map("cpu", "rw") as view:
            for number in range(len(view)):
                view.native[number][...] = 10 + number
        return mapped

    def test_nobody_holds_it(self, lent: Callable[[], int]) -> None:
        with self._mapped() as frame:
            assert len(frame.planes) == 2
        assert frame.closed
        assert lent() == 0

    def test_somebody_holds_the_frame(self) -> None:
        frame = self._mapped()
        native, plane = frame.native, frame.planes[1]
        assert frame.close() is False
        assert plane.closed
        assert (sb.frame(native).map("cpu").native[1] == 11).all()
        del native
