# SPDX-License-Identifier: Apache-2.0
"""A cluster of two nodes of this machine, and what is to be run on it: a name for each line.

For each name a line is printed: the JSON of a traceback, or of "".
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import traceback
from typing import Any

import ray
from ray.cluster_utils import Cluster

_STORE = 100 << 20


def start(head: dict[str, Any], other: dict[str, Any]) -> Cluster:
    """Two nodes. Ray gives each 30 seconds, which a busy machine may need more than once."""
    for attempt in range(3):
        cluster = Cluster()
        try:
            cluster.add_node(**head)
            cluster.add_node(**other)
        except Exception:
            cluster.shutdown()
            if attempt == 2:
                raise
        else:
            break
    return cluster


def main() -> None:
    """Start the cluster, run what is asked for, and end it."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Ray prints goes elsewhere
    node = {"num_cpus": 1, "object_store_memory": _STORE}
    # Addresses of the loopback interface; Ray would replace 127.0.0.1.
    head = {
        "node_ip_address": "127.0.0.2", "resources": {"here": 1}, "include_dashboard": False,
        **node,
    }  # fmt: skip
    other = {"node_ip_address": "127.0.0.3", "resources": {"there": 1, "NPU": 1}, **node}
    cluster = start(head, other)
    try:
        ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        scenarios = importlib.import_module("scenarios")  # it needs PYTHONPATH

        print("ready", file=answers, flush=True)
        for line in sys.stdin:
            text = ""
            try:
                getattr(scenarios, line.strip())()
            except BaseException:
                text = traceback.format_exc()
            print(json.dumps(text), file=answers, flush=True)
        ray.shutdown()
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
