# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the tests of the software VA-API driver share."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from samebytes_softdevices import SoftDeviceError, va_live
from samebytes_softdevices._plan import Plan
from samebytes_softdevices._va import DRIVER, plan
from samebytes_softdevices.va_surfaces import Display, shared_display

DMA_BUF_MAKERS = (Path("/dev/udmabuf"), Path("/dev/dma_heap/system"))
MISSING = "missing device VAAPI: pytest --softdevices=vaapi (pip install samebytes-softdevices)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of real DMA-BUFs unless the kernel can make some."""
    if any(device.exists() for device in DMA_BUF_MAKERS):
        return
    skip = pytest.mark.skip(reason="this kernel makes no DMA-BUFs: python3 dev.py lab")
    for item in items:
        if item.get_closest_marker("dmabuf") is not None:
            item.add_marker(skip)


@pytest.fixture
def np() -> Any:
    try:
        return import_module("numpy")
    except ImportError:
        pytest.skip("missing package numpy: pip install numpy")


@pytest.fixture
def vaapi() -> Plan:
    """The plan of the driver; the test is skipped unless it is built and libva is installed."""
    try:
        return plan()
    except SoftDeviceError as error:
        pytest.skip(f"missing device VAAPI: {error}")


@pytest.fixture
def on() -> None:
    """Require that the driver is on in this process, and open its shared display."""
    if os.environ.get("LIBVA_DRIVER_NAME", "") + "_drv_video.so" != DRIVER:
        pytest.skip(MISSING)
    shared_display()


@pytest.fixture
def no_leak(on: None) -> Iterator[None]:
    """Check that the test leaves no object behind."""
    del on
    before = len(va_live())
    yield
    gc.collect()
    assert len(va_live()) == before


@pytest.fixture
def display_with(monkeypatch: pytest.MonkeyPatch, on: None) -> Iterator[Callable[..., Display]]:
    """Open displays with variables of the driver; they are closed after the test."""
    del on
    made = []

    def open_one(**environment: str) -> Display:
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            made.append(Display())
        return made[-1]

    yield open_one
    for display in made:
        display.close()


@pytest.fixture
def run_tool(
    vaapi: Plan, plain_environment: dict[str, str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a program of the system on the driver, with additional variables."""
    from samebytes_softdevices._activate import environment_with

    def run(package: str, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        if shutil.which(command[0]) is None:
            pytest.skip(f"missing package {package}: apt install {package}")
        settings = environment_with(vaapi, plain_environment)
        return subprocess.run(
            command,
            env={**settings, "LIBVA_MESSAGING_LEVEL": "1", **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
