# SPDX-License-Identifier: Apache-2.0
"""The search for a route from one context to another, which becomes one function."""
