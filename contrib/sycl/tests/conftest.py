# SPDX-License-Identifier: Apache-2.0
"""The device under test, and programs in their own processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from samebytes.testing import missing_device

if TYPE_CHECKING:
    from samebytes_sycl import SYCLContext

pytest.importorskip("dpctl", reason="missing package dpctl: pip install dpctl")

NO_DEVICE = missing_device("GPU")


@pytest.fixture(scope="session")
def device() -> None:
    """Skip the test if there is no device."""
    import dpctl

    if not dpctl.get_devices():
        pytest.skip(NO_DEVICE)


@pytest.fixture
def context(request: pytest.FixtureRequest) -> SYCLContext:
    """The context of the default queue."""
    request.getfixturevalue("device")
    import samebytes
    from samebytes_sycl import SYCLContext

    found = samebytes.context("sycl")
    assert isinstance(found, SYCLContext)
    return found
