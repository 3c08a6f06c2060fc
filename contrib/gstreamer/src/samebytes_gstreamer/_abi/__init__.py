# SPDX-License-Identifier: Apache-2.0
"""Mirrors of C headers: structures, constants and prototypes, one module for each library."""
