# SPDX-License-Identifier: Apache-2.0
"""The cluster: a check of its resources, and the actors.

Ray waits without a limit for a resource that no node has, and for one that is in use. So the former
is checked before anything starts, and the latter has a time-out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import ray
import ray.exceptions

from samebytes.plugins import without_secrets_in

from ._errors import ClusterError, PlacementTimeoutError
from ._stages import Stage
from ._worker import Worker

__all__ = ["check_resources", "dismiss", "hire", "wait_for"]

# Resources that are options of their own to Ray.
_OPTIONS = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}


def check_resources(stages: Iterable[Stage]) -> None:
    """Check that the cluster has the resources that the actors ask for, in use or not.

    Raises:
        ClusterError: this process is not connected to a cluster; or no node has what one actor asks
            for, or all nodes together have less than all actors ask for.
    """
    if not ray.is_initialized():
        raise ClusterError(
            "this process is not connected to a Ray cluster: call ray.init(address=...) first"
        )
    nodes = [node for node in ray.nodes() if node["Alive"]]
    asked: Counter[str] = Counter()
    for stage in stages:
        asked.update(stage.resources)
        if not any(_has(node["Resources"], stage.resources) for node in nodes):
            raise ClusterError(
                f"no node of the cluster has {_words(stage.resources)}, which the actor of "
                f"{stage.name} asks for; its nodes have {_nodes(nodes)}",
                stage.resources,
            )
    total: Counter[str] = Counter()
    for node in nodes:
        total.update(node["Resources"])
    if not _has(total, asked):
        short = {name: asked[name] for name in asked if asked[name] > total[name]}
        raise ClusterError(
            f"the actors of the pipeline ask for {_words(short)} together, and the cluster's nodes "
            f"have {_nodes(nodes)}",
            short,
        )


def hire(stage: Stage, on_error: str) -> Any:
    """Ask Ray for an actor that runs the elements of a stage; it may take its time to start."""
    options: dict[str, Any] = {"num_cpus": 0}
    custom = {}
    for name, amount in stage.resources.items():
        if name in _OPTIONS:
            options[_OPTIONS[name]] = amount
        else:
            custom[name] = amount
    # The pipeline restarts it, since it knows the frames that the actor had.
    options |= {"resources": custom, "max_restarts": 0, "max_task_retries": 0}
    actor = ray.remote(Worker).options(**options)
    return actor.remote(stage.pickled, stage.copy, on_error, stage.last)


def wait_for(actor: Any, stage: Stage, timeout: float) -> str:
    """Wait until an actor has a process; return the name of that.

    Raises:
        PlacementTimeoutError: it has none in time.
        ClusterError: its process ended at once.
    """
    try:
        return str(ray.get(actor.ready.remote(), timeout=timeout))
    except ray.exceptions.GetTimeoutError:
        dismiss(actor)
        free = {k: v for k, v in ray.available_resources().items() if k in stage.resources}
        raise PlacementTimeoutError(
            f"Ray did not start the actor of {stage.name} in {timeout:g} s: it asks for "
            f"{_words(stage.resources)}, and {_words(free)} is free in the cluster",
            stage.resources,
        ) from None
    except ray.exceptions.RayActorError as error:
        raise ClusterError(
            f"the actor of {stage.name} did not start; is samebytes-ray installed on all nodes? "
            f"{error}"
        ) from without_secrets_in(error)


def dismiss(actor: Any) -> None:
    """End the process of an actor."""
    ray.kill(actor, no_restart=True)


def _has(there: Mapping[str, float], wanted: Mapping[str, float]) -> bool:
    return all(there.get(name, 0) >= amount for name, amount in wanted.items())


def _words(resources: Mapping[str, float]) -> str:
    return ", ".join(f"{name}: {amount:g}" for name, amount in resources.items()) or "nothing"


def _nodes(nodes: Iterable[Mapping[str, Any]]) -> str:
    """The resources of nodes, without the names that Ray gives each node."""
    return " and ".join(
        f"({_words({k: v for k, v in node['Resources'].items() if not k.startswith('node:')})})"
        for node in nodes
    )
