# SPDX-License-Identifier: Apache-2.0
"""Owners of memory and native handles: who frees it, when, and on which thread.

A Storage is released by the thread that drops the last reference to it. One in a reference cycle is
released by the thread that collects garbage, after the mappings that lie in it (storage._Later).
What was lent to a C library is dropped by the main thread, or by the next sweep of any (loans). At
exit, the storages that ask for it are released, newest first; what is still lent stays. A forked
child does not release those, which are its parent's, and releases all others as usual.
"""
