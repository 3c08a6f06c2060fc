# SPDX-License-Identifier: Apache-2.0
"""Runs of several variants in turns, several times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ._statistics import Paired, Spread
from ._stopwatch import Timing

__all__ = ["Comparison", "Measure", "take_turns"]

Measure = Callable[[], Timing]


@dataclass(slots=True)
class Comparison:
    """The timings of each way in each round.

    Attributes:
        codecs: the stages whose work is the same in every way.
        passes: the timings of each way, by its name, one for each round; samebytes is the first.
        missing: the reason why a way did not run, by its name.
        disagree: the ways whose results differ from those of the pass before the timed ones.
    """

    codecs: tuple[str, ...]
    passes: dict[str, list[Timing]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    disagree: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of the ways."""
        return list(self.passes)

    @property
    def stages(self) -> list[str]:
        """The stages in the order of the pipeline."""
        return list(self._any.stages)

    @property
    def between(self) -> list[str]:
        """The stages that lie between the codecs."""
        return [stage for stage in self.stages if stage not in self.codecs]

    @property
    def rounds(self) -> int:
        """The number of times that each way ran."""
        return len(next(iter(self.passes.values())))

    @property
    def frames(self) -> int:
        """The number of frames of one pass."""
        return self._any.frames

    def cpu(self, name: str, *stages: str) -> Spread:
        """Milliseconds of CPU time a frame, in these stages or in all."""
        return Spread.of(timing.cpu_ms(*stages) for timing in self.passes[name])

    def wall(self, name: str, *stages: str) -> Spread:
        """Milliseconds on the clock a frame, in these stages or in all."""
        return Spread.of(timing.wall_ms(*stages) for timing in self.passes[name])

    def cpu_beside(self, name: str, *stages: str) -> Paired:
        """The CPU times of the first way and another, paired by round, as in `cpu`."""
        first = next(iter(self.passes.values()))
        return Paired.of(
            [timing.cpu_ms(*stages) for timing in first],
            [timing.cpu_ms(*stages) for timing in self.passes[name]],
        )

    def wall_beside(self, name: str, *stages: str) -> Paired:
        """The same for wall times, as in `wall`."""
        first = next(iter(self.passes.values()))
        return Paired.of(
            [timing.wall_ms(*stages) for timing in first],
            [timing.wall_ms(*stages) for timing in self.passes[name]],
        )

    def copied_mb(self, name: str, *stages: str) -> float:
        """Millions of bytes a frame, in these stages or in all: the same in every round."""
        return self.passes[name][0].copied_mb(*stages)

    @property
    def _any(self) -> Timing:
        return next(iter(self.passes.values()))[0]


def take_turns(
    ways: Mapping[str, Measure],
    rounds: int,
    codecs: Sequence[str],
    on_pass: Callable[[int], None] = lambda done: None,
) -> Comparison:
    """Run each way once in each round, and begin every round with another one.

    A temporary slowdown of the machine then affects all of them, and none always runs first.

    Args:
        ways: functions that run a pass of each way, by its name.
        rounds: how often each way runs.
        codecs: as in `Comparison`.
        on_pass: called with the number of passes that are done.
    """
    names = list(ways)
    comparison = Comparison(tuple(codecs), {name: [] for name in names})
    done = 0
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            comparison.passes[name].append(ways[name]())
            done += 1
            on_pass(done)
    return comparison
