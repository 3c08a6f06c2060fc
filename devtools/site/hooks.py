# SPDX-License-Identifier: Apache-2.0
"""The hooks that MkDocs calls while it builds the site; mkdocs.yml names this module."""

import logging
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

from devtools.site import devices, links, llms, reference
from devtools.workspace import ROOT

# MkDocs counts the warnings of its own loggers: with --strict each one fails the build.
_log = logging.getLogger("mkdocs.plugins.samebytes")

# The Markdown of each page, for llms.txt and for those who read that rather than HTML.
_texts: dict[str, str] = {}
_navigation: list[Navigation] = []


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that stand for files of the repository."""
    _texts.clear()
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


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:  # noqa: ARG001  # MkDocs passes them by name
    """Keep the navigation, which llms.txt follows."""
    _navigation[:] = [nav]
    return nav


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001  # as above
    """Rewrite links that lead out of docs/, and show which devices examples need."""
    name = page.file.src_uri
    if not name.startswith("repository/"):
        markdown = links.rewritten(ROOT, markdown, PurePosixPath("docs", name))
    markdown = devices.with_devices(markdown, name)
    _texts[name] = markdown
    return markdown


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001  # as above
    """Link the errors that a docstring names to their classes."""
    in_reference = page.file.src_uri.startswith("reference/api/")
    return reference.with_linked_errors(html, page.file.name) if in_reference else html


def on_post_build(config: MkDocsConfig) -> None:
    """Write llms.txt, llms-full.txt and the Markdown of each page, and look at the reference."""
    llms.write(Path(config.site_dir), _navigation[0], _texts)
    for complaint in reference.complaints():
        _log.warning(complaint)
