# SPDX-License-Identifier: Apache-2.0
"""The order of the rules. This process imports nothing of the plugin: children do."""

from __future__ import annotations

import json
from typing import Any

from ..._plugins.children import Child, run_child
from ..._plugins.discovery import GROUP
from ..._plugins.distributions import entries, install_hint
from ..._plugins.probe import examine
from ..._plugins.specs import API, Plugin
from ..._plugins.tables import PluginRecord
from ...errors import UnknownNameError
from .findings import Finding

__all__ = ["Check", "check_plugin"]

_CHILD = "samebytes._authors.check.child"
_CRASH = "a crash is a bug in native code, or in how it is called; faulthandler shows where"


def check_plugin(name: str, timeout: float) -> list[Finding]:
    """Try every rule on an installed plugin.

    Args:
        timeout: how long a child process may take, in seconds.

    Raises:
        UnknownNameError: no plugin of that name is installed.
    """
    return Check(name, timeout).run()


class Check:
    """One plugin on its way through the stages.

    Attributes:
        findings: all until now.
    """

    def __init__(self, name: str, timeout: float) -> None:
        self._name = name
        self._timeout = timeout
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
        self.stage("classes")
        for node in declared["nodes"]:
            self.stage("context", node)
        for number, edge in enumerate(declared["edges"]):
            unmet = tables["unmet"].get(str(number))
            if unmet is None:
                self.stage("edge", str(number))
            else:
                self._add("an edge takes something", edge, "not checked", unmet)
        return self.findings

    def _entry_point(self) -> str | None:
        """The module that it names, if it is sound."""
        everyone = entries(GROUP)
        mine = [entry for entry in everyone if entry.name == self._name]
        if not mine:
            hint = install_hint(self._name)
            advice = f"(to get it: {hint})" if hint else "(install it first: pip install -e .)"
            known = [entry.name for entry in everyone]
            raise UnknownNameError("plugin", self._name, known, advice)
        entry = mine[0]
        subject = f"{entry.name} = {entry.module}"
        rule = "the entry point names a module"
        mend = (
            f'[project.entry-points."{GROUP}"] in pyproject.toml: {self._name} = "package._plugin"'
        )
        if entry.problem is not None:
            self._add(rule, subject, "failed", entry.problem, mend)
            return None
        if len(mine) > 1:
            whose = " and ".join(e.distribution for e in mine)
            detail = f"{whose} both announce a plugin of this name"
            self._add(rule, subject, "failed", detail, "choose another name, or uninstall one")
            return None
        whose = f"{entry.distribution} {entry.version}".strip()
        self._add(rule, subject, "passed", whose)
        return entry.module

    def probe(self, declared: dict[str, Any]) -> str | None:
        """Ask whether it can be used here; why the rest cannot be checked, or None."""
        plugin = Plugin(api=API, summary="", packages=declared["packages"], probe=declared["probe"])
        found = examine(PluginRecord(self._name, plugin=plugin), self._timeout)
        result = found.result
        rule, subject = "the probe answers in time", declared["probe"] or "no probe"
        mend = "return ProbeResult(usable=False, reason=..., hint=...) for what may be missing"
        if found.faulty:
            self._add(rule, subject, "failed", result.reason, mend)
            return "its probe fails"
        if not result.usable and not (result.reason and result.hint):
            detail = f"its no comes without a {'hint' if result.reason else 'reason'}"
            self._add(rule, subject, "failed", detail, mend)
            return f"it cannot be used here: {result.reason}"
        answer = "yes" if result.usable else "no"
        self._add(rule, subject, "passed", f"{answer}: {result.reason}".rstrip(": "))
        if result.usable:
            return None
        return f"it cannot be used here: {result.reason}; to do: {result.hint}"

    def stage(self, stage: str, argument: str = "") -> dict[str, Any]:
        """Run one stage in a child process; the facts that it told."""
        facts: dict[str, Any] = {}
        begun: dict[str, Any] | None = None
        try:
            child = run_child(_CHILD, [stage, self._name, argument], self._timeout)
        except OSError as error:
            detail = f"no child process could be started: {error}"
            self._add(f"stage {stage}", argument, "not checked", detail)
            return facts
        for line in child.answers:
            told: dict[str, Any] = json.loads(line)
            if "begin" in told:
                begun = told
            elif "facts" in told:
                facts.update(told["facts"])
            elif begun is not None:
                text = told["detail"]
                mend = begun["mend"] if told["outcome"] == "failed" else ""
                self._add(begun["begin"], begun["subject"], told["outcome"], text, mend)
                begun = None
        self._end(child, begun, stage, argument)
        return facts

    def _end(self, child: Child, begun: dict[str, Any] | None, stage: str, argument: str) -> None:
        """What the end of the child says: of the rule that it was at, or of the whole stage."""
        well = child.status == 0
        detail = f"it {child.ending(self._timeout)}"
        more = f"; or more time: --timeout {4 * self._timeout:g}" if child.status is None else ""
        if begun is not None and begun["last"] and well:
            self._add(begun["begin"], begun["subject"], "passed")
        elif begun is not None:
            self._add(begun["begin"], begun["subject"], "failed", detail, begun["mend"] + more)
        elif not well:
            rule = f"the process of stage {stage!r} ends well"
            self._add(rule, argument or self._name, "failed", detail, _CRASH + more)

    def _ended(self, what: str, why: str) -> list[Finding]:
        self._add(what, self._name, "not checked", why)
        return self.findings

    def _add(self, rule: str, subject: str, outcome: Any, detail: str = "", mend: str = "") -> None:
        self.findings.append(Finding(rule, subject, outcome, detail, mend))
