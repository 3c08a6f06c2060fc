# SPDX-License-Identifier: Apache-2.0
"""Mirrors of Linux's headers: constants, structures and prototypes, one module for each header."""
