# SPDX-License-Identifier: Apache-2.0
"""Memory, its owners, and the edges from one framework to another. Knows no framework."""
