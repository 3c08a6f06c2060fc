# SPDX-License-Identifier: Apache-2.0
"""Run the fuzzers: `python -m tests.fuzz --help`; dev.py fuzz does it on software devices."""

from __future__ import annotations

import sys

from .running import main

if __name__ == "__main__":
    sys.exit(main())
