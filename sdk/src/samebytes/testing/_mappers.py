# SPDX-License-Identifier: Apache-2.0
"""MapperSuite: the rules for mapping from one memory type to another.

Its tests are in `_mapping_bytes`, `_mapping_objects`, `_mapping_declared`, `_mapping_layouts`,
`_drop_orders` and `_lifetimes`; this module decides which of them apply.
"""

from __future__ import annotations

import pytest

from samebytes import TensorInfo, Transfer

from ._examples import DTYPES
from ._mapping_bytes import ByteChecks
from ._mapping_declared import DeclarationChecks
from ._mapping_layouts import LayoutChecks
from ._mapping_objects import ObjectChecks
from ._memory import Memory
from ._objects import choose_tests

__all__ = ["MapperSuite"]


class MapperSuite(ByteChecks, ObjectChecks, DeclarationChecks, LayoutChecks):
    """Tests of a mapping. Inherit it once for each pair of memory types and each level.

    Class attributes:
        source, target: the two memory types.
        cases: what must map: TensorInfos for tensors, ImageInfos for frames.
        mapper: "module:Class" of one edge, to test that edge alone; None tests the route that
            map() finds, which may be another one where more plugins are installed.
        refused: (case, part of the reason) for what must not map.
        layouts: which odd layouts of the source the mapping serves.
        accesses: the access modes that it serves; the others are refused.
        transfer: the strongest thing that happens to the bytes on the way.
        threads, maps_per_thread: how many threads map at once, and how often.
        scenarios: how many scenarios of `test_lifetimes` are played, of 25 steps each.
        mixed_access: mappings for reading and for writing can live at once; False where the
            framework locks what it maps: then the second one is refused.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cases = getattr(cls, "cases", ())
        if not cases:  # a base class of the author's own
            return
        frames = not isinstance(cases[0], TensorInfo)
        copies = cls.transfer is Transfer.COPY
        apart = cls.transfer in (Transfer.MAP, Transfer.COPY)
        owns = cls.source.allocates_frames if frames else cls.source.allocates
        foreign = type(cls.source).over is not Memory.over and not copies
        foreign_frames = type(cls.source).frame_over is not Memory.frame_over and not copies
        mixing = not apart and cls.mapper is None and {"r", "rw"} <= {*cls.accesses}
        if not mixing and not cls.mixed_access:
            raise TypeError(f"{cls.__name__} does not test mixed_access: leave it out")
        choose_tests(
            cls,
            MapperSuite,
            test_writes_to_the_mapping_show_in_the_source=cls.accesses != ("r",),
            test_copies_are_asked_for=copies,
            test_what_is_known_of_a_frame_is_kept=frames,
            test_refusals=bool(cls.refused),
            test_the_route_says_what_happens=cls.mapper is None,
            test_the_edge_says_what_happens=cls.mapper is not None,
            test_accesses_that_are_not_served=len(cls.accesses) < 3 and cls.mapper is None,
            test_mixed_access=mixing,
            test_queue=cls.mapper is None,
            # An edge from a node to itself takes only what it has a use for.
            test_planes_keep_their_places=frames and "r" in cls.accesses,
            test_every_dtype=not frames
            and "r" in cls.accesses
            and cls.source.node != cls.target.node,
            test_dtypes=not frames and not copies and cls.target.dtypes is not None,
            test_formats=frames and not copies and cls.target.formats is not None,
            test_declared_layouts=foreign and not frames and any(cls.layouts.declared()),
            test_any_layout=foreign and not frames,
            test_any_image=foreign_frames and frames,
            test_the_end_of_a_block=cls.accesses != ("r",),
            test_each_plane_is_published=frames and cls.accesses != ("r",),
            test_a_plane_keeps_its_memory=frames,
            test_regions_map=not frames and "r" in cls.accesses,
            test_closing_owned_memory=owns and not copies and cls.source.natives_hold,
        )

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give the tests their cases and access modes."""
        if "refusal" in metafunc.fixturenames:
            ids = [f"{case}" for case, _ in self.refused]
            metafunc.parametrize("refusal", self.refused, ids=ids)
        if "case" in metafunc.fixturenames:
            metafunc.parametrize("case", self.cases, ids=[str(c) for c in self.cases])
        if "oddity" in metafunc.fixturenames:
            metafunc.parametrize("oddity", [o for o, _ in self.layouts.declared()])
        if "dtype_name" in metafunc.fixturenames:
            metafunc.parametrize("dtype_name", self.source.dtypes or DTYPES)
        if "access" in metafunc.fixturenames:
            metafunc.parametrize("access", self.accesses)
        if "reading" in metafunc.fixturenames:  # with "w", the earlier bytes are undefined
            metafunc.parametrize("reading", [a for a in self.accesses if a != "w"])
        if "writing" in metafunc.fixturenames:
            metafunc.parametrize("writing", [a for a in self.accesses if a != "r"])
