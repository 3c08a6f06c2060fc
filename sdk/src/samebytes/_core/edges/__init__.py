# SPDX-License-Identifier: Apache-2.0
"""Places of memory, and the edges between them."""
