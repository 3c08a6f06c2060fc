# SPDX-License-Identifier: Apache-2.0
"""Unix sockets between processes: bytes with descriptors, addresses, peers, and waiting for them.

Nothing here knows what a message or packet means.
"""
