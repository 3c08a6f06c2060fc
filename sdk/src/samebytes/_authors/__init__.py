# SPDX-License-Identifier: Apache-2.0
"""For authors of backends: a package to begin with, and a check of the one that they wrote."""
