# SPDX-License-Identifier: Apache-2.0
"""Constants and prototypes from C headers, without logic."""
