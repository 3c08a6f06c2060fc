# SPDX-License-Identifier: Apache-2.0
"""What every run of pytest here shares."""

from __future__ import annotations

import gc


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what lives until the end of the run.

    Tests of lifetimes and leaks collect thousands of times. With the tests of all distributions
    loaded, each time takes longer than such a test.
    """
    gc.collect()
    gc.freeze()
