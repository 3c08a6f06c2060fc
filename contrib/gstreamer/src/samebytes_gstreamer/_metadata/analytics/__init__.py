# SPDX-License-Identifier: Apache-2.0
"""Results as GStreamer's own elements read and write them: the metas of GstAnalytics.

They exist from GStreamer 1.24 on. What a version lacks is found by the names of its functions.
"""

from __future__ import annotations

from .merging import merged_entries, merged_regions
from .reading import Analytics, read_analytics
from .tensors import copy_tensors, read_tensors
from .writing import add_analytics, add_details, remove_analytics, write_regions_as

__all__ = [
    "Analytics",
    "add_analytics",
    "add_details",
    "copy_tensors",
    "merged_entries",
    "merged_regions",
    "read_analytics",
    "read_tensors",
    "remove_analytics",
    "write_regions_as",
]
