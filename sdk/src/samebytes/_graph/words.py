# SPDX-License-Identifier: Apache-2.0
"""The graph as text, and in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Sequence

from .._core.edges.edge import MapperSpec, Transfer

__all__ = ["dot", "text"]


def text(edges: Sequence[MapperSpec]) -> str:
    """Each node that edges start from, with a line for each edge."""
    lines: list[str] = []
    source = None
    for edge in edges:
        if edge.source != source:
            source = edge.source
            lines.append(source)
        arrow = "- ->" if edge.transfer is Transfer.COPY else "--->"
        level = " (frames)" if edge.level == "frame" else ""
        only = f" [only: {edge.only}]" if edge.only else ""
        lines.append(f"  {arrow} {edge.target}  {edge.transfer.name}{level}{only}")
    return "".join(f"{line}\n" for line in lines)


def dot(nodes: Sequence[str], edges: Sequence[MapperSpec]) -> str:
    """A digraph; edges that copy are dashed."""
    lines = ["digraph samebytes {", "  node [shape=box, style=rounded];"]
    lines += [f'  "{node}";' for node in nodes]
    drawn = dict.fromkeys((edge.source, edge.target, edge.transfer) for edge in edges)
    for source, target, transfer in drawn:
        style = ", style=dashed" if transfer is Transfer.COPY else ""
        lines.append(f'  "{source}" -> "{target}" [label="{transfer.name}"{style}];')
    return "\n".join([*lines, "}", ""])
