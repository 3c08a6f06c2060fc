# SPDX-License-Identifier: Apache-2.0
"""The rule book for backends: one function for each rule, which the suites of `samebytes.testing`
and `samebytes check-plugin` both call.

Nothing in here needs pytest: check-plugin runs where a backend is installed without its test tools.
A rule takes the subject on which it is tried (see `subjects`). It raises BrokenRule with what it
saw, or NotChecked if it cannot be tried. The suites see memory by its framework's own means,
check-plugin through samebytes alone.
"""

from __future__ import annotations

from .book import CHAPTERS, BrokenRule, NotChecked, Rule, all_rules

__all__ = ["CHAPTERS", "BrokenRule", "NotChecked", "Rule", "all_rules"]
