# SPDX-License-Identifier: Apache-2.0
"""Which routes the search gives, and where it ends."""

from __future__ import annotations

from samebytes._plugins.tables import Edge
from samebytes._routing.search import search_routes

from .made_up import Alias, edge


def edges(*pairs: str) -> list[Edge]:
    """An edge for each pair, such as "ab"."""
    return [Edge(edge(pair[0], pair[1], Alias), "made-up") for pair in pairs]


def routes(found: list[Edge], source: str, target: str) -> list[str]:
    """The nodes of each route, in the order that the search gives them in."""
    return [
        source + "".join(one.spec.target for one in route)
        for route in search_routes(found, source, target)
    ]


def test_a_route_ends_at_its_target() -> None:
    # Were it followed beyond, it would come back: "abcb" by way of the loop of b.
    assert routes(edges("ab", "bb", "bc", "cb"), "a", "b") == ["ab"]


def test_a_memory_type_by_itself_takes_its_dense_copy() -> None:
    assert routes(edges("aa", "ab", "ba"), "a", "a") == ["aa"]


def test_a_route_has_six_hops_at_most() -> None:
    chain = edges("ab", "bc", "cd", "de", "ef", "fg", "gh")
    assert routes(chain, "a", "g") == ["abcdefg"]
    assert routes(chain, "a", "h") == []
