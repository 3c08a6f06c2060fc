# SPDX-License-Identifier: Apache-2.0
"""The documentation site: docs/ and the docstrings, built by MkDocs."""
