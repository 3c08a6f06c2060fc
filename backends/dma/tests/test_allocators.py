# SPDX-License-Identifier: Apache-2.0
"""The allocators of a machine, and the probe's answers about them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import samebytes
from samebytes.errors import MissingDependencyError
from samebytes.plugins import advice_to_open
from samebytes_dma import _allocators
from samebytes_dma._allocators import ALLOCATORS, Heap, Memfd, Udmabuf
from samebytes_dma._probe import probe


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Path]:
    """A machine whose /dev is a folder of the test's."""
    heaps = tmp_path / "dma_heap"
    heaps.mkdir()
    found = {"udmabuf": tmp_path / "udmabuf", "heap": heaps / "system"}
    monkeypatch.setattr(_allocators, "UDMABUF", found["udmabuf"])
    monkeypatch.setattr(_allocators, "HEAPS", heaps)
    monkeypatch.setattr(_allocators, "ALLOCATORS", (Heap(), Udmabuf(), Memfd()))
    monkeypatch.setattr(
        _allocators,
        "_NAMED",
        {"heap": Heap(), "system": Heap(), "udmabuf": Udmabuf(), "memfd": Memfd()},
    )
    return found


def test_the_order_of_preference() -> None:
    assert [a.name for a in ALLOCATORS] == ["heap.system", "udmabuf", "memfd"]


def test_names_of_the_system_heap(devices: dict[str, Path]) -> None:
    names = ("dma:heap", "dma:system", "dma:heap.system")
    for name in names:
        with pytest.raises(MissingDependencyError) as caught:
            samebytes.context(name)
        assert caught.value.missing == str(devices["heap"])
    devices["heap"].touch()
    assert len({id(samebytes.context(name)) for name in names}) == 1


@pytest.mark.usefixtures("devices")
def test_a_machine_without_dma_bufs() -> None:
    found = probe()
    assert found.usable
    assert "memfd stands in" in found.reason
    assert "sudo modprobe udmabuf" in found.hint
    assert "CONFIG_DMABUF_HEAPS_SYSTEM" in found.hint
    assert found.details["memfd"] == "a stand-in: no DMA-BUF"
    assert found.details["udmabuf"].endswith("udmabuf is missing")
    with samebytes.context("dma").allocate((4,)) as tensor:
        assert tensor.native.buffer.kind == "memfd"
    with pytest.raises(MissingDependencyError, match="modprobe udmabuf"):
        samebytes.context("dma:udmabuf")


def test_a_machine_that_has_them(devices: dict[str, Path]) -> None:
    devices["udmabuf"].touch()
    assert probe().reason == "new memory comes from udmabuf"
    devices["heap"].touch()
    found = probe()
    assert (found.reason, found.hint) == ("new memory comes from heap.system", "")
    assert found.details["udmabuf"] == found.details["heap.system"] == "usable"


def test_devices_that_may_not_be_opened(
    devices: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    devices["udmabuf"].touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(MissingDependencyError) as caught:
        samebytes.context("dma:udmabuf")
    assert caught.value.missing.startswith("permission to open")
    assert caught.value.hint == advice_to_open(devices["udmabuf"])


def test_other_heaps_are_named_where_one_is_mistyped(devices: dict[str, Path]) -> None:
    (devices["heap"].parent / "linux,cma").touch()
    with pytest.raises(LookupError, match=r"heap\.linux,cma"):
        samebytes.context("dma:hea.linux,cma")


def test_other_systems_have_no_dma_bufs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    found = probe()
    assert not found.usable
    assert "Linux" in found.reason
    assert found.hint
