# SPDX-License-Identifier: Apache-2.0
"""`python3 dev.py soak`."""

from __future__ import annotations

from .pipelines import main

if __name__ == "__main__":
    main()
