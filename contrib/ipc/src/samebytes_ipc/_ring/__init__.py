# SPDX-License-Identifier: Apache-2.0
"""A ring of shared frames: one process fills slots, others read them where they lie.

The design, from the memory up. docs/reference/ring.md says the same for users.

* A slot is memory behind a descriptor (`slots`). Own slots are allocated once; memory of others
  that is sent (a decoder's DMA-BUFs) gets a slot when it is first seen. The descriptor of a slot
  and the layout of its frames go to each reader once, before the first frame that needs them.
  After that a frame is a number of a slot, a number of a layout, its time, and its metadata.
* Packets go over a Unix socket of packets (`packets`, `_sockets`). Neither side believes anything
  in them without a check. A reader may give back what it was sent, once, and nothing else.
* A frame that was accepted is a `Delivery` (`deliveries`). Each reader has its own queue of them
  (`remote_reader`): those it waits for, and those it has. A slot is free when the writer's own
  holders are gone and no reader has or awaits a frame of it.
* Waiting for a free slot is the back-pressure (`pool`, `when_full="wait"`). A live source instead
  takes the oldest waiting frame out of the readers' queues ("drop-oldest"). What was sent cannot be
  taken back, so no reader is sent more than its share of the slots, and all of them together leave
  two.
* What a reader receives is an ordinary frame of "dma" (`received_frames`). Its owner is a storage
  of this one use, whose release gives the slot back: the last array, plane or capsule returns it.
  The mapping of a slot is made once, on both sides; each access to a DMA-BUF still begins and ends.
* A memfd is mapped by the writer and then sealed against new writable mappings, so readers cannot
  write. For DMA-BUFs the kernel has nothing of the kind.
* Neither side has a thread. The writer looks at its sockets in its calls, and never waits in
  sendmsg(): what does not fit stays in the queue of its reader. `fileno()` is for event loops.
* The usual frame costs a packet to each reader, and little else: arrays over the mapping of a slot,
  made in advance (`arrays`), in a layout that the reader knows (`remote_reader`). The writer reads
  what came back when it does not know whether the next slot is free, and looks for readers that
  come or go once in a while (`server`).
* The death of a peer shows in the end of its socket and, as another process may hold that, in its
  pidfd. What the dead had comes back, and is counted as lost.
* A forked child has no part in its parent's rings: descriptors are closed there, and frames that
  it inherited give nothing back.
* No lock is held while something waits. Releases run in finalizers: they only change sets, send
  packets that cannot wait, or wake whoever waits. Memory of others is dropped after the lock
  (`calls`), since its release is code of others.
"""
