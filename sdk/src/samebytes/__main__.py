# SPDX-License-Identifier: Apache-2.0
"""`python -m samebytes` is the `samebytes` command."""

from __future__ import annotations

import sys

from ._cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
