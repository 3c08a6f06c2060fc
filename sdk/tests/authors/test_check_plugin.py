# SPDX-License-Identifier: Apache-2.0
"""`samebytes check-plugin` as a whole: what passes, what cannot be checked, what is printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from samebytes.__main__ import main

if TYPE_CHECKING:
    from sdk.tests.authors.conftest import Generated
    from sdk.tests.conftest import Site

Generate = Callable[[str], "Generated"]
TIME_LIMIT_S = 60


def check_plugin(name: str, seconds: int) -> list[SimpleNamespace]:
    """The findings that `samebytes check-plugin --json` prints."""
    with redirect_stdout(StringIO()) as printed:
        main(["check-plugin", name, "--json", "--timeout", str(seconds)])
    return [SimpleNamespace(**each) for each in json.loads(printed.getvalue())["findings"]]


def check(generated: Generated) -> list[SimpleNamespace]:
    generated.install()
    return check_plugin(generated.name, TIME_LIMIT_S)


def failed(findings: list[SimpleNamespace]) -> dict[str, str]:
    """The rules that were broken, and what was seen."""
    return {f.rule: f.detail for f in findings if f.outcome == "failed"}


def test_the_generated_backend_passes(generate: Generate) -> None:
    findings = check(generate("alpha"))
    assert {f.outcome for f in findings} == {"passed"}
    assert {f.subject for f in findings} >= {"alpha", "cpu -> alpha", "alpha -> cpu"}


def test_the_generated_element_passes(generate_element: Generate) -> None:
    findings = check(generate_element("alpha"))
    assert {f.outcome for f in findings} == {"passed"}
    (element,) = [f for f in findings if f.number == "6.15"]
    assert element.subject == "alpha.brighten, samebytes_alpha.brighten:Brighten"
    assert element.detail == "by"


@pytest.mark.parametrize(
    ("new", "broken", "remedy"),
    [
        ("def samebytes_contexts", "hooks are spelt and marked", "@samebytes.plugins.hookimpl"),
        ("def _contexts", "an edge requires the plugins of its nodes", "samebytes_contexts()"),
    ],
)
@pytest.mark.together
def test_a_node_that_is_not_declared_breaks_one_rule(
    new: str, broken: str, remedy: str, generate: Generate
) -> None:
    """The remedies of the rules after it would send an author to other plugins."""
    generated = generate("alpha")
    generated.change("_plugin.py", "@hookimpl\ndef samebytes_contexts", new)
    found = [f for f in check(generated) if f.outcome == "failed"]
    assert {f.rule for f in found} == {broken}
    assert all(remedy in f.remedy for f in found)


@pytest.mark.parametrize("place", ["_probe.py", "_mappers.py"])
@pytest.mark.together
def test_what_hangs_is_ended(generate: Generate, place: str) -> None:
    generated = generate("alpha")
    hangs = "        __import__('time').sleep(600)\n"
    if place == "_probe.py":
        generated.change(place, "    try:\n", f"    try:\n{hangs}")
    else:
        generated.change(place, "        array = item.native\n", f"{hangs}        array = 0\n")
    generated.install()
    found = failed(check_plugin("alpha", 2))
    assert found
    assert all("took more than 2 s" in expected for expected in found.values())


def test_an_edge_that_refuses_is_not_checked(generate: Generate) -> None:
    generated = generate("alpha")
    generated.change("_mappers.py", "if not array.flags.c_contiguous", "if True")
    findings = check(generated)
    (left,) = [f for f in findings if f.outcome != "passed"]
    assert (left.outcome, left.subject) == ("not checked", "cpu -> alpha")
    assert "leave gaps" in left.detail


def test_what_cannot_be_used_here_is_not_checked(generate: Generate) -> None:
    generated = generate("alpha")
    generated.change("_probe.py", "        mmap.mmap(", "        raise OSError('none')\n        (")
    findings = check(generated)
    assert failed(findings) == {}
    assert findings[-1].outcome == "not checked"
    assert "the system gives no memory: none; to do: end other programs" in findings[-1].detail


def test_an_edge_to_what_is_not_installed(generate: Generate) -> None:
    generated = generate("alpha")
    generated.change("_plugin.py", 'source="cpu"', 'requires=("made_up>=1",), source="cpu"')
    # Its mapper is not even imported, which might need what is not there.
    left = [f for f in check(generated) if f.outcome != "passed"]
    assert [f.rule for f in left] == [
        "an edge has a mapper that connects",
        "an edge takes some object",
    ]
    for finding in left:
        assert finding.outcome == "not checked"
        assert finding.subject.startswith("cpu -> alpha")
        assert "it needs plugin 'made_up', which is not installed" in finding.detail


def test_the_built_in_backend() -> None:
    findings = check_plugin("cpu", TIME_LIMIT_S)
    assert failed(findings) == {}
    assert "cpu -> cpu" in {f.subject for f in findings if f.outcome == "passed"}
    assert not [f for f in findings if f.outcome == "not checked"]


@pytest.mark.parametrize("value", ["not a module", "samebytes_alpha:PLUGIN"])
def test_an_entry_point_that_names_no_module(site: Site, value: str) -> None:
    site.distribution("alpha-dist", f"[samebytes.plugins]\nalpha = {value}\n")
    found = failed(check_plugin("alpha", TIME_LIMIT_S))
    assert "does not name a module" in found["the entry point names a module"]


def test_two_plugins_of_one_name(site: Site) -> None:
    for distribution in ("one", "other"):
        site.distribution(distribution, "[samebytes.plugins]\nalpha = alpha_plugin\n")
    expected = failed(check_plugin("alpha", TIME_LIMIT_S))["the entry point names a module"]
    assert expected == "one and other both announce a plugin of this name"


def test_a_disabled_plugin(generate: Generate, monkeypatch: pytest.MonkeyPatch) -> None:
    generated = generate("alpha")
    monkeypatch.setenv("SAMEBYTES_DISABLE", "alpha")
    findings = check(generated)
    assert failed(findings) == {}
    assert "disabled by SAMEBYTES_PLUGINS or SAMEBYTES_DISABLE" in findings[-2].detail


def test_the_command(generate: Generate, capsys: pytest.CaptureFixture[str]) -> None:
    generated = generate("alpha")
    generated.change("_mappers.py", 'access == "r"', "False")
    generated.install()
    assert main(["check-plugin", "alpha", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["plugin"] == "alpha"
    assert set(report["findings"][0]) == {
        "rule",
        "number",
        "subject",
        "outcome",
        "detail",
        "means",
        "remedy",
    }
    assert main(["check-plugin", "alpha"]) == 1
    out = capsys.readouterr().out
    assert "failed: read-only memory stays read-only (alpha -> cpu)\n" in out
    assert "\n  seen: its native array can be written\n" in out
    assert "\n  which means: a part of a program that should only read can write" in out
    assert '  remedy: for access "r", connect() returns' in out
    assert out.splitlines()[-1].startswith("alpha: ")


def test_a_part_alone_and_what_is_said_meanwhile(
    generate: Generate, capsys: pytest.CaptureFixture[str]
) -> None:
    generate("alpha").install()
    assert main(["check-plugin", "alpha", "--only", "cpu -> alpha", "--verbose", "--json"]) == 0
    out, err = capsys.readouterr()
    findings = json.loads(out)["findings"]  # nothing else is there
    assert "cpu -> alpha" in {f["subject"] for f in findings}
    assert not {"alpha", "alpha -> cpu"} & {f["subject"] for f in findings if f["number"] != "6.13"}
    lines = [line.partition(":") for line in err.splitlines()]
    assert [subject for subject, *_ in lines] == ["declaration", "cpu -> alpha"]
    assert all(" passed, 0 failed (" in text for *_, text in lines)


def test_a_part_that_is_not_there(generate: Generate, capsys: pytest.CaptureFixture[str]) -> None:
    generate("alpha").install()
    assert main(["check-plugin", "alpha", "--only", "cpu->alpha"]) == 2
    out, err = capsys.readouterr()
    assert "unknown context or edge of alpha 'cpu->alpha'; did you mean 'cpu -> alpha'" in err
    assert "declaration:" not in err, "stderr is not a terminal"
    assert not out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("alhpa",), "unknown plugin 'alhpa'; did you mean 'alpha'"),
        (("alpha", "--timeout", "soon"), "is not a number of seconds"),
        ((), "the following arguments are required: NAME"),
    ],
)
def test_arguments_that_make_no_sense(
    site: Site, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    site.distribution("alpha-dist", "[samebytes.plugins]\nalpha = alpha_plugin\n")
    assert main(["check-plugin", *arguments]) == 2
    assert expected in capsys.readouterr().err
