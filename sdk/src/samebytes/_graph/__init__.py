# SPDX-License-Identifier: Apache-2.0
"""The graph of routes as a picture: what can be mapped to what, with the installed plugins."""
