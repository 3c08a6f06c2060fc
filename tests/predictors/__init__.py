# SPDX-License-Identifier: Apache-2.0
"""Detectors compared with their makers' own programs, which are not dependencies."""
