# SPDX-License-Identifier: Apache-2.0
"""Finding plugins, checking what they declare, and the tables filled from it."""
