# SPDX-License-Identifier: Apache-2.0
"""The order of the rules. This process imports nothing of the plugin: children do."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

from ..._plugins.children import Child, run_child
from ..._plugins.discovery import GROUP
from ..._plugins.distributions import Entry, entries
from ..._plugins.probe import examine
from ..._plugins.specs import API, Plugin
from ..._plugins.tables import PluginRecord
from ..._plugins.words import unknown_plugin
from ..._version import __version__
from ...errors import UnknownNameError
from ...testing.rules import BrokenRule, Rule
from ...testing.rules.declaration import entry_point, probe_answers
from ...testing.rules.mappings import edge_takes_something
from .reporting import Finding, Outcome

__all__ = ["Check", "check_plugin"]

P = ParamSpec("P")

_CHILD = "samebytes._authors.check.child"
_CRASH = "a crash is a bug in native code, or in how it is called; faulthandler shows where"


def check_plugin(
    name: str,
    timeout: float,
    only: Sequence[str] = (),
    tell: Callable[[str, Sequence[Finding]], None] | None = None,
) -> list[Finding]:
    """Try every rule on an installed plugin.

    Args:
        timeout: how long a child process may take, in seconds.
        only: nodes of contexts and names of edges ("cpu -> alpha"), to try these alone once it is
            clear that the plugin is in use; empty for all.
        tell: called after each part, with what it was tried on and what was found there.

    Raises:
        UnknownNameError: no plugin of that name is installed, or it has no such context or edge.
    """
    return Check(name, timeout, only, tell).run()


class Check:
    """One plugin on its way through the stages.

    Attributes:
        findings: all until now.
    """

    def __init__(
        self,
        name: str,
        timeout: float,
        only: Sequence[str] = (),
        tell: Callable[[str, Sequence[Finding]], None] | None = None,
    ) -> None:
        self._name = name
        self._timeout = timeout
        self._only = only
        self._tell = tell
        self._reported = 0
        self.findings: list[Finding] = []

    def run(self) -> list[Finding]:
        """All that was found. A stage that others build upon ends the run if it is broken."""
        path = self._entry_point()
        declared = self.stage("declaration", path) if path else {}
        if not declared:
            return self._ended("classes, contexts and edges", "see what failed above")
        tables = self.stage("tables")
        if not tables.get("ready"):
            return self._ended("classes, contexts and edges", "it is not in use")
        reason = self.probe(declared)
        if reason is not None:
            return self._ended("classes, contexts and edges", reason)
        self._done("declaration")
        self._check_only(declared)
        if not self._only:
            self.stage("classes")
            self._done("classes")
        for node in filter(self._wanted, declared["nodes"]):
            self.stage("context", node)
            self._done(node)
        for number, edge in enumerate(declared["edges"]):
            if not self._wanted(edge):
                continue
            unmet = tables["unmet"].get(str(number))
            if unmet is None:
                self.stage("edge", str(number))
            else:
                self._add(_finding(edge_takes_something, edge, "not checked", unmet))
            self._done(edge)
        return self.findings

    def _wanted(self, subject: str) -> bool:
        return not self._only or subject in self._only

    def _check_only(self, declared: dict[str, Any]) -> None:
        known = [*declared["nodes"], *declared["edges"]]
        for name in self._only:
            if name not in known:
                raise UnknownNameError(f"context or edge of {self._name}", name, known)

    def _done(self, subject: str) -> None:
        """Report what was found since the last part."""
        if self._tell is not None:
            self._tell(subject, self.findings[self._reported :])
        self._reported = len(self.findings)

    def _entry_point(self) -> str | None:
        """The module that it names, if it is sound."""
        built_in = Entry("cpu", "samebytes._cpu.plugin", "samebytes", __version__)
        everyone = [built_in, *entries(GROUP)]
        mine = [entry for entry in everyone if entry.name == self._name]
        if not mine:
            known = [entry.name for entry in everyone]
            raise unknown_plugin(self._name, known, "(install it first: pip install -e .)")
        entry = mine[0]
        subject = f"{entry.name} = {entry.module}"
        problem = entry.problem
        if problem is None and len(mine) > 1:
            whose = " and ".join(e.distribution for e in mine)
            problem = f"{whose} both announce a plugin of this name"
        whose = f"{entry.distribution} {entry.version}".strip()
        return entry.module if self._tries(entry_point, subject, whose, problem) else None

    def probe(self, declared: dict[str, Any]) -> str | None:
        """Ask whether it can be used here; why the rest cannot be checked, or None."""
        plugin = Plugin(api=API, summary="", packages=declared["packages"], probe=declared["probe"])
        found = examine(PluginRecord(self._name, plugin=plugin), self._timeout)
        result = found.result
        subject = declared["probe"] or "no probe"
        if found.faulty:
            self._add(_finding(probe_answers, subject, "failed", result.reason))
            return "its probe fails"
        answer = f"{'yes' if result.usable else 'no'}: {result.reason}".rstrip(": ")
        if not self._tries(probe_answers, subject, answer, result):
            return f"it cannot be used here: {result.reason}"
        if result.usable:
            return None
        return f"it cannot be used here: {result.reason}; to do: {result.hint}"

    def stage(self, stage: str, argument: str = "") -> dict[str, Any]:
        """Run one stage in a child process; the facts that it reported."""
        facts: dict[str, Any] = {}
        begun: dict[str, Any] | None = None
        try:
            child = run_child(_CHILD, [stage, self._name, argument], self._timeout)
        except OSError as error:
            detail = f"no child process could be started: {error}"
            self._add(Finding(f"stage {stage}", argument, "not checked", detail))
            return facts
        for line in child.answers:
            answer: dict[str, Any] = json.loads(line)
            if "begin" in answer:
                begun = answer
            elif "facts" in answer:
                facts.update(answer["facts"])
            elif begun is not None:
                self._add(_as_finding(begun, answer["outcome"], answer["detail"]))
                begun = None
        self._end(child, begun, stage, argument)
        return facts

    def _end(self, child: Child, begun: dict[str, Any] | None, stage: str, argument: str) -> None:
        """Add what the child's end shows: of the rule that it was at, or of the whole stage."""
        well = child.status == 0
        detail = f"it {child.ending(self._timeout)}"
        more = f"; or more time: --timeout {4 * self._timeout:g}" if child.status is None else ""
        if begun is not None and begun["last"] and well:
            self._add(_as_finding(begun, "passed"))
        elif begun is not None:
            self._add(_as_finding(begun, "failed", detail, more))
        elif not well:
            rule = f"the process of stage {stage!r} ends well"
            self._add(Finding(rule, argument or self._name, "failed", detail, _CRASH + more))

    def _ended(self, what: str, why: str) -> list[Finding]:
        self._add(Finding(what, self._name, "not checked", why))
        return self.findings

    def _tries(
        self, rule: Rule[P], subject: str, seen: str, *args: P.args, **kwargs: P.kwargs
    ) -> bool:
        """Try a rule in this process; whether it holds, and then what was seen."""
        try:
            rule(*args, **kwargs)
        except BrokenRule as broken:
            self._add(_finding(rule, subject, "failed", broken.seen))
            return False
        self._add(_finding(rule, subject, "passed", seen))
        return True

    def _add(self, finding: Finding) -> None:
        self.findings.append(finding)


def _finding(rule: Rule[Any], subject: str, outcome: Outcome, detail: str) -> Finding:
    failed = outcome == "failed"
    return Finding(
        rule.sentence, subject, outcome, detail, rule.advice if failed else "", rule.number,
        rule.meaning if failed else "",
    )  # fmt: skip


def _as_finding(
    begun: dict[str, Any], outcome: Outcome, detail: str = "", more: str = ""
) -> Finding:
    """The finding on a rule, from the line in which the child began it and its outcome."""
    failed = outcome == "failed"
    return Finding(
        begun["begin"], begun["subject"], outcome, detail,
        begun["remedy"] + more if failed else "", begun["number"], begun["means"] if failed else "",
    )  # fmt: skip
