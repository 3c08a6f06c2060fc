# SPDX-License-Identifier: Apache-2.0
"""Pipelines to read frames from and to write frames to, and the elements of samebytes for them.

Results that a program added to a frame are put onto the buffer that goes on.
"""
