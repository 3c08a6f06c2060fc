# SPDX-License-Identifier: Apache-2.0
"""The common parts of the remote contexts and tensors of GPU and NPU, from `_context` on.

`_pins` and `_leases` keep memory alive while a plugin uses it, `_placement_rules` says which memory
a plugin uses in place, and `_shared_queue` what models on a queue of the user's can do.
"""
