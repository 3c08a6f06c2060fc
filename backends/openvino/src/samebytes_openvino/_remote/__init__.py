# SPDX-License-Identifier: Apache-2.0
"""The common parts of the remote contexts and tensors of GPU and NPU, from `_context` on.

`_pins` and `_leases` keep memory alive while a plugin uses it, and `_placement` and `_shared_queue`
have the plugins' rules for requests.
"""
