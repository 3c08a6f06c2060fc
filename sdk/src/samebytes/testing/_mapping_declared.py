# SPDX-License-Identifier: Apache-2.0
"""The tests of MapperSuite on declarations: the route, refusals, access modes, types, formats."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

import samebytes
from samebytes import Access, Frame, ImageInfo, Tensor, TensorInfo, Transfer
from samebytes.errors import AccessError, CopyRequiredError, NoRouteError
from samebytes.formats import known_formats

from ._cases import Case
from ._mapping import Mapping

__all__ = ["DeclarationChecks"]

_STRENGTH = (Transfer.ALIAS, Transfer.IMPORT, Transfer.MAP, Transfer.COPY)


class DeclarationChecks(Mapping):
    """The part of MapperSuite that is about what is declared, and what is refused.

    Class attributes:
        refused: (case, part of the reason) for what must not map.
    """

    refused: ClassVar[tuple[tuple[Any, str], ...]] = ()

    def test_the_route_says_what_happens(self, case: Case, access: Access) -> None:
        """Rule 1: the route says beforehand whether it copies, and its edges say how."""
        item = self.item(case)
        route = samebytes.route(item, self.target.context(), access=access, copy=self.copies)
        assert route.copies == self.copies
        strongest = max((h.spec.transfer for h in route.hops), key=_STRENGTH.index)
        assert strongest is self.transfer
        assert all(access in hop.spec.access for hop in route.hops)
        assert self.target.memory_type in route.explain()
        mapped = route.map(item)
        assert mapped.context == self.target.context()

    def test_the_edge_says_what_happens(self) -> None:
        """Rule 1: the plugin declares the same for the edge as the suite."""
        frames = not isinstance(self.cases[0], TensorInfo)
        spec = self._spec()
        assert spec.transfer is self.transfer
        assert spec.access == self.accesses
        assert spec.level == ("frame" if frames else "tensor") or spec.serves("frame")

    def test_refusals(self, refusal: tuple[Case, str]) -> None:
        """Rule 5: cases that the target cannot hold are refused with a reason, without a copy."""
        case, reason = refusal
        item = self.item(case)
        samebytes.reset_stats()
        with pytest.raises((NoRouteError, CopyRequiredError)) as caught:
            self.map(item, self.accesses[0], copy=False)
        assert reason in str(caught.value)
        assert samebytes.stats().copies == 0

    def test_accesses_that_are_not_served(self, case: Case) -> None:
        """Rule 10: an access mode that is not declared is refused."""
        every: tuple[Access, ...] = ("r", "w", "rw")
        for access in every:
            if access in self.accesses:
                continue
            try:
                self.map(self.item(case), access)
            except (AccessError, NoRouteError, CopyRequiredError):
                continue
            ends = f"{self.source.node} -> {self.target.node}"
            pytest.fail(
                f'{ends} serves access "{access}", which is not among the accesses of '
                f"{type(self).__name__}: say there that it does, or leave it out of "
                f"MapperSpec.access, whose default is all three; an edge that copies and does not "
                f'write back serves ("r",)'
            )

    def test_dtypes(self, dtype_name: str) -> None:
        """Rule 5: the target's element types map; the others are refused with a reason."""
        case = self.cases[0]
        item = self.item(TensorInfo(dtype_name, case.shape))
        if dtype_name in (self.target.dtypes or ()):
            mapped = self.map(item, self._reading())
            assert isinstance(mapped, Tensor)
            assert str(mapped.dtype) == dtype_name
        else:
            with pytest.raises((NoRouteError, CopyRequiredError)):
                self.map(item, self._reading())

    def test_formats(self) -> None:
        """Rule 5: the target's image formats map; the others are refused with a reason."""
        case = self.cases[0]
        names = [str(known) for known in known_formats()]
        for name in self.source.formats or names:
            item = self.item(ImageInfo.of(name, case.width, case.height))
            if name in (self.target.formats or ()):
                mapped = self.map(item, self._reading())
                assert isinstance(mapped, Frame)
                assert str(mapped.format) == name
            else:
                with pytest.raises((NoRouteError, CopyRequiredError)):
                    self.map(item, self._reading())
