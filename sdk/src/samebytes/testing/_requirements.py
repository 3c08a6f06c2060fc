# SPDX-License-Identifier: Apache-2.0
"""The packages that the suites need, checked before any suite is imported."""

from __future__ import annotations

try:
    import hypothesis as _hypothesis  # noqa: F401 - only to say early that it is missing
    import pytest
except ImportError as error:
    from .._plugins.distributions import install_hint

    raise ImportError(
        f"samebytes.testing needs {error.name}: {install_hint('testing')}", name=error.name
    ) from error

__all__: list[str] = []

# pytest explains the suites' asserts as it does those of a test file.
pytest.register_assert_rewrite(
    *(
        f"samebytes.testing.{name}"
        for name in (
            "_closed", "_contexts", "_drop_orders", "_element_parameters", "_elements",
            "_footprint", "_frames", "_scenarios", "_held", "_lifetimes", "_mapping_bytes",
            "_mapping_declared", "_mapping_layouts", "_mapping_objects", "_objects",
            "_plugins", "_tensors",
        )
    )
)  # fmt: skip
