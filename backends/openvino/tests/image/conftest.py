# SPDX-License-Identifier: Apache-2.0
"""Settings with which models of images give the same results on any CPU."""

from __future__ import annotations

import pytest

from samebytes_openvino._core import default_core


@pytest.fixture(autouse=True, scope="session")
def exact() -> None:
    """Compute in 32 bits: on CPUs with AMX, OpenVINO's plugin uses bfloat16 by default."""
    default_core().set_property("CPU", {"INFERENCE_PRECISION_HINT": "f32"})
