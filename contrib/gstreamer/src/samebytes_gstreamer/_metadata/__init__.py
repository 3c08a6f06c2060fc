# SPDX-License-Identifier: Apache-2.0
"""Metadata of buffers: their times, metas, results of inference and tags, read and written.

Each kind of meta has a module of its own.
"""
