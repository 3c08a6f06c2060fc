# SPDX-License-Identifier: Apache-2.0
"""The rule book for backends: one function for each rule, which the suites of `samebytes.testing`
and `samebytes check-plugin` both call.

Nothing in here needs pytest: check-plugin runs where a backend is installed without its test tools.
A rule takes what it is tried on (see `subjects`), and raises BrokenRule with what it saw, or
NotChecked where it cannot be tried. The suites see memory by its framework's own means, and
check-plugin through samebytes alone.
"""

from __future__ import annotations

from .book import CHAPTERS, BrokenRule, NotChecked, Rule, all_rules

__all__ = ["CHAPTERS", "BrokenRule", "NotChecked", "Rule", "all_rules"]
