# SPDX-License-Identifier: Apache-2.0
"""The common parts of the remote contexts and tensors of GPU and NPU; `_context` is their base.

`_lifetimes` keeps memory alive while a plugin uses it, `_placement_rules` has the memory that a
plugin uses in place, and `_shared_queue` is for models that run on a queue of the user's.
"""
