# SPDX-License-Identifier: Apache-2.0
"""What the suites need, checked before any of them is imported."""

from __future__ import annotations

try:
    import hypothesis as _hypothesis  # noqa: F401 - only to say early that it is missing
    import pytest
except ImportError as error:
    raise ImportError(
        f'samebytes.testing needs {error.name}: pip install "samebytes[testing]"', name=error.name
    ) from error

__all__: list[str] = []

# pytest explains the suites' asserts as it does those of a test file.
pytest.register_assert_rewrite(
    "samebytes.testing._closed",
    "samebytes.testing._contexts",
    "samebytes.testing._footprint",
    "samebytes.testing._frames",
    "samebytes.testing._lifetimes",
    "samebytes.testing._mappers",
    "samebytes.testing._objects",
    "samebytes.testing._plugins",
    "samebytes.testing._tensors",
)
