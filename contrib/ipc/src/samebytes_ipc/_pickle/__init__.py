# SPDX-License-Identifier: Apache-2.0
"""Tensors and frames in what multiprocessing sends: their memory goes by descriptor.

Other picklers still raise, for their pickles may lie in a file for years. A pickle made by
multiprocessing goes to one process, and soon. It holds an address and a key; the process that loads
it connects there and is sent the memory, once (`offers`). An offer that nobody fetches is dropped
after a time, and its descriptor closed.

The standard library's DupFd cannot replace this. A pickle that nobody loads, because its worker
died, would keep its descriptor and memory for as long as this process lives: resource_sharer drops
only what is fetched. Its thread answers one client at a time and waits for each without a limit, so
a client that sends nothing stops all others. And it sends one descriptor for each connection,
without a layout.
"""
