# SPDX-License-Identifier: Apache-2.0
"""Tensors and frames in what multiprocessing sends: their memory goes by descriptor.

Pickles of other picklers may lie in a file for years, so those go on raising. One of
multiprocessing's goes to one process, soon. It holds an address and a key; whoever loads it
connects there and is sent the memory, once (`offers`). What nobody asks for is forgotten after a
time, and its descriptor closed.

The standard library's DupFd does not serve. A pickle that nobody opens, as of a worker that died,
would keep its descriptor and memory for as long as this process lives: resource_sharer forgets only
what is fetched. Its thread answers one client at a time and waits for each without a limit, so that
one that says nothing stops all. And it sends one descriptor for each connection, and no layout.
"""
