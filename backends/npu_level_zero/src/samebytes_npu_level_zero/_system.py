# SPDX-License-Identifier: Apache-2.0
"""Which kind of system this is: memory is shared by NT handle on Windows, by descriptor else."""

from __future__ import annotations

import os

__all__ = ["WINDOWS"]

WINDOWS = os.name == "nt"
"""Read it as `_system.WINDOWS`: tests set it."""
