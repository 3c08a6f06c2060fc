# SPDX-License-Identifier: Apache-2.0
"""Run the fault injection and print its table; dev.py faults does it on software devices."""

from __future__ import annotations

import sys

from .running import main

if __name__ == "__main__":
    sys.exit(main())
