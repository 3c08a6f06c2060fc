# SPDX-License-Identifier: Apache-2.0
"""A release: versions that agree, files that are all there, lists of contents."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from devtools import metadata, release, sbom
from devtools.installed_needs import needs
from devtools.workspace import DISTRIBUTIONS, CommandError, Distribution

ONE = Distribution("made-up", "made-up")


def component(name: str, version: str = "1.0") -> dict[str, Any]:
    return {"type": "library", "name": name, "version": version, "bom-ref": f"{name}=={version}"}


ENVIRONMENT = {
    "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
    "bomFormat": "CycloneDX",
    "specVersion": "1.6",
    "metadata": {"tools": {"components": []}},
    "components": [
        {
            **component("made-up"),
            "externalReferences": [{"type": "distribution", "url": "file:///home/me/made-up"}],
        },
        {
            **component("Typing_Extensions", "4.0"),
            "externalReferences": [{"type": "website", "url": "https://example.org"}],
        },
        component("unrelated"),
    ],
}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    for name in ("made_up-1.0-py3-none-any.whl", "made_up-1.0.tar.gz"):
        (tmp_path / name).write_text(name)
    return sorted(tmp_path.iterdir())


def listed(files: list[Path]) -> dict[str, Any]:
    wanted = {"made-up": ["typing-extensions"], "typing-extensions": []}
    return sbom.of_distribution(ENVIRONMENT, "made-up", wanted, files)


def test_a_list_has_what_is_needed_and_no_more(files: list[Path]) -> None:
    document = listed(files)
    assert document["metadata"]["component"]["name"] == "made-up"
    assert [c["name"] for c in document["components"]] == ["Typing_Extensions"]
    assert document["dependencies"] == [
        {"ref": "made-up==1.0", "dependsOn": ["Typing_Extensions==4.0"]},
        {"ref": "Typing_Extensions==4.0"},
    ]


def test_a_list_names_the_published_files_and_no_folder_of_this_machine(files: list[Path]) -> None:
    document = listed(files)
    references = document["metadata"]["component"]["externalReferences"]
    assert [(r["comment"], r["url"]) for r in references] == [
        ("wheel", "made_up-1.0-py3-none-any.whl"),
        ("sdist", "made_up-1.0.tar.gz"),
    ]
    content = hashlib.sha256(files[0].read_bytes()).hexdigest()
    assert references[0]["hashes"] == [{"alg": "SHA-256", "content": content}]
    assert "file://" not in json.dumps(document)
    assert "https://example.org" in json.dumps(document)


def test_lists_are_compared_with_the_schema(files: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("cyclonedx", reason="missing package cyclonedx: python3 dev.py setup")
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(listed(files)))
    sbom.validate([good])
    bad.write_text(json.dumps({**listed(files), "components": [{"type": "no such type"}]}))
    with pytest.raises(CommandError):
        sbom.validate([good, bad])


def test_needs_follow_extras_only_where_they_are_asked_for() -> None:
    found = needs("samebytes")
    assert {"numpy", "pluggy"} <= set(found["samebytes"])
    assert "hypothesis" not in found  # of the extra `testing`
    assert all(name in found for direct in found.values() for name in direct)


def test_versions_agree() -> None:
    assert release.same_versions() == []


def test_a_version_that_differs_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = tmp_path / "made-up" / "src" / "made_up" / "__init__.py"
    module.parent.mkdir(parents=True)
    module.write_text('__version__ = "9.9.9"\n')
    monkeypatch.setattr(Distribution, "path", property(lambda d: tmp_path / d.folder))
    monkeypatch.setattr(release, "DISTRIBUTIONS", [ONE])
    monkeypatch.setattr(release, "ROOT", tmp_path)
    core = {"project": {"version": "1.0"}}
    monkeypatch.setattr(metadata, "read", lambda _: core)
    monkeypatch.setattr(metadata, "complaints", lambda: ["a: version is '2'", "b: x"])
    assert release.same_versions() == [
        "a: version is '2'",
        "made-up/src/made_up/__init__.py: __version__ is 9.9.9, expected 1.0",
    ]


def test_files_that_are_missing_or_there_twice(files: list[Path], tmp_path: Path) -> None:
    assert release.complete(tmp_path, [ONE]) == []
    (tmp_path / "made_up-1.1.tar.gz").write_text("")
    files[0].unlink()
    assert release.complete(tmp_path, [ONE]) == [
        "made-up: 0 files made_up-VERSION.whl",
        "made-up: 2 files made_up-VERSION.tar.gz",
    ]


def test_what_others_need_is_uploaded_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for distribution in DISTRIBUTIONS:
        stem = distribution.name.replace("-", "_")
        for ending in ("-1.0-py3-none-any.whl", "-1.0.tar.gz", "-1.0.cdx.json"):
            (tmp_path / f"{stem}{ending}").write_text("")
    release._say_what_to_upload(tmp_path)
    upload, _, attach = capsys.readouterr().out.partition("To attach")
    lines = [line.strip() for line in upload.splitlines() if line.startswith("  ")]
    assert lines[0] == str(tmp_path / "samebytes-1.0-py3-none-any.whl")
    assert len(lines) == 2 * len(DISTRIBUTIONS)
    assert ".cdx.json" not in upload
    assert attach.count(".cdx.json") == len(DISTRIBUTIONS)


def test_a_version_without_an_entry_in_the_changelog_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metadata, "read", lambda _: {"project": {"version": "99.0.0"}})
    assert "CHANGELOG.md has no section [99.0.0]" in release.before_uploading()
