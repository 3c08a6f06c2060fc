# SPDX-License-Identifier: Apache-2.0
"""Owners of memory and native handles: who frees it, when, and on which thread."""
