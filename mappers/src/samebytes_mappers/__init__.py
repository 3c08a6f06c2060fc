# SPDX-License-Identifier: Apache-2.0
"""Mappings between samebytes backends that need the objects of both."""
