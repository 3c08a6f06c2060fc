# SPDX-License-Identifier: Apache-2.0
"""What the C headers say, without logic."""
