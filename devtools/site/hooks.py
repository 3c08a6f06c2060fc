# SPDX-License-Identifier: Apache-2.0
"""The hooks that MkDocs calls while it builds the site; mkdocs.yml names this module."""

import logging
from pathlib import PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from devtools.site import links, reference
from devtools.workspace import ROOT

# MkDocs counts the warnings of its own loggers: with --strict each one fails the build.
_log = logging.getLogger("mkdocs.plugins.samebytes")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages that stand for files of the repository."""
    for path in links.linked_pages(ROOT):
        files.append(
            File.generated(
                config,
                links.page_of(ROOT, path),
                content=links.shown(ROOT, path),
                inclusion=InclusionLevel.NOT_IN_NAV,
            )
        )
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001  # MkDocs passes them by name
    """Rewrite links that lead out of docs/, and show which devices examples need."""
    name = page.file.src_uri
    if not name.startswith("repository/"):
        markdown = links.rewritten(ROOT, markdown, PurePosixPath("docs", name))
    return links.with_devices(markdown, name)


def on_post_build(config: MkDocsConfig) -> None:  # noqa: ARG001  # as above
    """Check the reference."""
    for complaint in reference.complaints():
        _log.warning(complaint)
