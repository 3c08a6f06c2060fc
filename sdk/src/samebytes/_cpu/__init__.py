# SPDX-License-Identifier: Apache-2.0
"""CPU memory: the backend that is always there."""
