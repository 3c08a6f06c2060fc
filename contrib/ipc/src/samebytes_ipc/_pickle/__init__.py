# SPDX-License-Identifier: Apache-2.0
"""Tensors and frames in what multiprocessing sends: their memory goes by descriptor.

Pickles of other picklers may lie in a file for years, so those go on raising. One of
multiprocessing's goes to one process, soon. It holds an address and a key; whoever loads it
connects there and is sent the memory, once (`offers`). What nobody asks for is forgotten after a
time, and its descriptor closed.
"""
