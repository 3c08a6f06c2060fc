# SPDX-License-Identifier: Apache-2.0
"""A Ray cluster of two nodes of this machine; it prints its address, and ends with its input.

The argument is how many megabytes the object store of each has.
"""

import os
import sys

from ray.cluster_utils import Cluster

ANSWER = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what Ray prints is not the address
MEGABYTES = int(sys.argv[1]) if sys.argv[1:] else 100
NODE = {"num_cpus": 0, "object_store_memory": MEGABYTES << 20}


def start() -> Cluster:
    """Ray gives each node 30 seconds, which a busy machine may need more than once."""
    for attempt in range(3):
        cluster = Cluster()
        try:
            # Addresses of the loopback interface; Ray would replace 127.0.0.1.
            cluster.add_node(
                node_ip_address="127.0.0.2", resources={"here": 1}, include_dashboard=False, **NODE
            )
            cluster.add_node(node_ip_address="127.0.0.3", resources={"there": 1}, **NODE)
        except Exception:
            cluster.shutdown()
            if attempt == 2:
                raise
        else:
            break
    return cluster


cluster = start()
try:
    print(cluster.address, file=ANSWER, flush=True)
    sys.stdin.read()
finally:
    cluster.shutdown()
