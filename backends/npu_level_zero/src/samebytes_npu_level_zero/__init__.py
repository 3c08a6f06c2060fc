# SPDX-License-Identifier: Apache-2.0
"""Level Zero USM as samebytes memory."""

__version__ = "0.1.0"
