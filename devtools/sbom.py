# SPDX-License-Identifier: Apache-2.0
"""Lists of what a distribution needs (SBOMs), in the CycloneDX format.

cyclonedx-py lists what .venv holds, with versions and licences. The list of a distribution is the
part of that which it needs, in the versions that it was built and tested with. Who needs whom is
asked apart, as the tool takes what extras bring for needs.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from devtools.venv import PYTHON, VENV
from devtools.workspace import Distribution, capture

__all__ = ["of_distribution", "of_environment", "validate", "write"]

_TOOL = ("-m", "cyclonedx_py", "environment", "--output-reproducible", "--short-PURLs")
_TYPES = {".whl": "wheel", ".gz": "sdist"}

Document = dict[str, Any]


def write(folder: Path, distributions: Iterable[Distribution]) -> list[Path]:
    """Write the list of each distribution whose files are in `folder`, beside them.

    Raises:
        CommandError: a tool failed, a distribution is not installed, or a list is not valid.
    """
    distributions = list(distributions)
    environment = of_environment()
    names = [d.name for d in distributions]
    needs = json.loads(capture([PYTHON, "-m", "devtools.installed_needs", *names]))
    written = []
    for distribution in distributions:
        stem = distribution.name.replace("-", "_")
        files = sorted([*folder.glob(f"{stem}-*.whl"), *folder.glob(f"{stem}-*.tar.gz")])
        document = of_distribution(environment, distribution.name, needs[distribution.name], files)
        version = document["metadata"]["component"]["version"]
        place = folder / f"{stem}-{version}.cdx.json"
        place.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")
        written.append(place)
    validate(written)
    return written


def of_environment() -> Document:
    """Everything that .venv holds."""
    document: Document = json.loads(capture([PYTHON, *_TOOL, VENV]))
    return document


def of_distribution(
    environment: Mapping[str, Any],
    name: str,
    needs: Mapping[str, Sequence[str]],
    files: Sequence[Path],
) -> Document:
    """The list of one distribution.

    Args:
        environment: that of everything.
        name: the distribution's.
        needs: what it needs, and what these need, by their canonical names; its own is among them.
        files: its wheel and sdist, whose SHA-256 the list has.
    """
    components = {_canonical(c["name"]): c for c in environment["components"]}
    reference = {each: components[each]["bom-ref"] for each in needs}
    document: Document = {k: environment[k] for k in ("$schema", "bomFormat", "specVersion")}
    document["version"] = 1
    document["metadata"] = {
        **environment["metadata"],
        "component": {
            **_published(components[name]),
            "externalReferences": [_reference(f) for f in files],
        },
    }
    document["components"] = [
        _published(components[each]) for each in sorted(needs) if each != name
    ]
    document["dependencies"] = [
        {
            "ref": reference[each],
            **({"dependsOn": [reference[n] for n in needs[each]]} if needs[each] else {}),
        }
        for each in sorted(needs)
    ]
    return document


def validate(places: Sequence[Path]) -> None:
    """Compare the lists with the schema of their version.

    Raises:
        CommandError: one does not follow it.
    """
    capture([PYTHON, "-m", "devtools.sbom", *places])


def _canonical(name: str) -> str:
    """A name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _published(component: Mapping[str, Any]) -> Document:
    """A component without what is true on this machine alone: where it was installed from."""
    kept = {k: v for k, v in component.items() if k not in ("externalReferences", "properties")}
    elsewhere = [
        reference
        for reference in component.get("externalReferences", ())
        if reference["url"].startswith("https://")
    ]
    return {**kept, **({"externalReferences": elsewhere} if elsewhere else {})}


def _reference(file: Path) -> Document:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return {
        "type": "distribution",
        "url": file.name,
        "comment": _TYPES[file.suffix],
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }


def _main(names: Sequence[str]) -> int:
    # What only the Python of .venv has.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    status = 0
    for name in names:
        text = Path(name).read_text()
        version = SchemaVersion.from_version(json.loads(text)["specVersion"])
        if error := JsonStrictValidator(version).validate_str(text):
            print(f"{name}: {error}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
