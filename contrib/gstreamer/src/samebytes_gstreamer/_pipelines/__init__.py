# SPDX-License-Identifier: Apache-2.0
"""Pipelines that frames come out of and go into, and the elements of samebytes made of them.

What a program added to a frame goes onto the buffer that goes on.
"""
