# SPDX-License-Identifier: Apache-2.0
"""The looks of our objects in notebooks and on terminals."""
