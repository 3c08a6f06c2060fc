# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: `python3 dev.py bench`. Each figure is a ratio to hand-written code, same run."""
