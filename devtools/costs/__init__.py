# SPDX-License-Identifier: Apache-2.0
"""Pages and plots of costs, made from the JSON that `samebytes bench --json` prints."""

from devtools.costs.command import EXPLAINED, RECORD, costs, made_of

__all__ = ["EXPLAINED", "RECORD", "costs", "made_of"]
