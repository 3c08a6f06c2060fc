# SPDX-License-Identifier: Apache-2.0
"""The common parts of the remote contexts and tensors of GPU and NPU, from `_context` on.

`_lifetimes` keeps memory alive while a plugin uses it, `_placement_rules` says which memory it
uses in place, and `_shared_queue` what models on a queue of the user's can do.
"""
