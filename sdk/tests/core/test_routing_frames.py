# SPDX-License-Identifier: Apache-2.0
"""Routes of frames: over edges for frames and over those for each plane, by format."""

from __future__ import annotations

import numpy as np
import pytest

import samebytes as sb
from samebytes import Transfer
from samebytes.errors import CopyRequiredError, NoRouteError

from .made_up import BETA, Alias, Mapped, OnlyDense, Watched, edge, install

pytestmark = pytest.mark.usefixtures("made_up")


def test_lifted_edges_serve_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch, edge("cpu", "alpha", Mapped, transfer=Transfer.MAP),
        edge("alpha", "beta", Alias),
    )  # fmt: skip
    frame = sb.frame(np.zeros((6, 4), np.uint8), format="NV12")
    frame.metadata["note"] = "kept"
    mapped = frame.map("beta", "rw")
    assert mapped.parent is frame
    assert all(p.parent is frame for p in mapped)
    assert mapped.meta is frame.meta
    assert [p.shape for p in mapped] == [(4, 4), (2, 2, 2)]
    mapped.planes[1].native[1, 1, 1] = 8
    assert frame.planes[1].native[1, 1, 1] == 8
    held = mapped.planes[1].native
    assert mapped.close() is False
    assert Mapped.released == ["cpu -> alpha"]
    del held
    assert Mapped.released == ["cpu -> alpha"] * 2


def test_a_closed_plane_of_a_lifted_edge_hides_no_holder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The storages are the frame's to end: its planes do not count them once more."""
    install(monkeypatch, edge("cpu", "alpha", Mapped, transfer=Transfer.MAP))
    mapped = sb.frame(np.zeros((6, 4), np.uint8), format="NV12").map("alpha", "rw")
    held = mapped.planes[0].storage
    mapped.planes[0].close()
    assert mapped.close() is False
    assert Mapped.released == ["cpu -> alpha"]
    del held
    assert Mapped.released == ["cpu -> alpha"] * 2


def test_an_edge_for_frames_comes_before_a_lifted_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors, frames = edge("cpu", "beta", Alias), edge("cpu", "beta", Watched, level="frame")
    for order in ((tensors, frames), (frames, tensors)):
        install(monkeypatch, *order)
        frame = sb.frame(np.zeros((4, 6), np.uint8), format="GRAY8")
        assert [h.spec.level for h in sb.route(frame, "beta").hops] == ["frame"]


def test_formats_of_an_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch, edge("cpu", "beta", Alias, level="frame", formats=("NV12",)),
        edge("cpu", "alpha", Alias, level="frame"), edge("alpha", "beta", Alias, level="frame"),
    )  # fmt: skip
    nv12 = sb.frame(np.zeros((6, 4), np.uint8), format="NV12")
    gray = sb.frame(np.zeros((6, 4), np.uint8), format="GRAY8")
    assert len(sb.route(nv12, "beta").hops) == 1
    assert len(sb.route(gray, "beta").hops) == 2
    assert gray.map("beta").native[0].shape == (6, 4)
    install(monkeypatch, edge("cpu", "beta", Alias, level="frame", formats=("NV12",)))
    with pytest.raises(NoRouteError, match="it takes NV12, not GRAY8"):
        sb.route(gray, "beta")
    with pytest.raises(NoRouteError, match="takes NV12, not GRAY8"):
        gray.map("beta")


def test_a_copying_edge_is_advised_for_its_formats_only(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        edge("cpu", "beta", Alias, transfer=Transfer.COPY, level="frame", formats=("NV12",)),
    )
    nv12 = sb.frame(np.zeros((6, 4), np.uint8), format="NV12")
    gray = sb.frame(np.zeros((6, 4), np.uint8), format="GRAY8")
    for ask in (lambda: sb.route(nv12, "beta"), lambda: nv12.map("beta")):
        with pytest.raises(CopyRequiredError, match="pass copy=True"):
            ask()
    for copy in (False, True):
        with pytest.raises(NoRouteError, match="takes NV12, not GRAY8"):
            sb.route(gray, "beta", copy=copy)
        with pytest.raises(NoRouteError, match="takes NV12, not GRAY8"):
            gray.map("beta", copy=copy)


def test_an_edge_by_hand_takes_the_formats_that_it_declares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, edge("cpu", "beta", Alias, level="frame", formats=("NV12",)))
    nv12 = sb.frame(np.zeros((6, 4), np.uint8), format="NV12")
    (hop,) = sb.route(nv12, "beta").hops
    assert hop.map(nv12).format.name == "NV12"
    gray = sb.frame(np.zeros((6, 4), np.uint8), format="GRAY8")
    with pytest.raises(NoRouteError, match="takes NV12, not GRAY8"):
        hop.map(gray)
    copying = edge("cpu", "beta", Alias, transfer=Transfer.COPY, level="frame", formats=("NV12",))
    with pytest.raises(NoRouteError, match="takes NV12, not GRAY8"):
        Alias(copying, gray.context, BETA).map(gray)


def test_a_frame_with_one_plane_that_is_refused_is_copied_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, edge("cpu", "alpha", OnlyDense))
    luma = np.arange(16, dtype=np.uint8).reshape(4, 4)[::-1]
    chroma = [np.full((2, 2), n, np.uint8) for n in (1, 2)]
    frame = sb.frame([luma, *chroma], format="I420")
    with pytest.raises(CopyRequiredError, match="it is not dense"):
        frame.map("alpha")
    sb.reset_stats()
    copied = frame.map("alpha", copy=True)
    assert sb.stats().by_edge["cpu -> cpu"].nbytes == 24
    for plane, original in zip(copied, (luma, *chroma), strict=True):
        assert np.array_equal(plane.native, original)
        assert plane.native.flags.c_contiguous
    copied.close()
