# SPDX-License-Identifier: Apache-2.0
"""Arrays, pointers, libraries and descriptors, as C and the system have them."""
