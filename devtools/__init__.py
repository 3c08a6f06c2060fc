# SPDX-License-Identifier: Apache-2.0
"""The implementation of dev.py. Standard library only; never published."""
