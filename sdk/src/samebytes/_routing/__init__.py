# SPDX-License-Identifier: Apache-2.0
"""Finding a route from one context to another, and making one function of it."""
