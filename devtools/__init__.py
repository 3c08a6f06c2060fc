# SPDX-License-Identifier: Apache-2.0
"""What dev.py is made of. Standard library only; never published."""
