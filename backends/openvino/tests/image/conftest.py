# SPDX-License-Identifier: Apache-2.0
"""Models of images compute as exactly here as on any other CPU."""

from __future__ import annotations

import pytest

from samebytes_openvino._core import default_core


@pytest.fixture(autouse=True, scope="session")
def exact() -> None:
    """In 32 bits: on CPUs with AMX, OpenVINO's plugin takes bfloat16 if nothing is said."""
    default_core().set_property("CPU", {"INFERENCE_PRECISION_HINT": "f32"})
