"""Owners' texts as pages show them: Markdown, of which nothing can run."""

from __future__ import annotations

from markdown_it import MarkdownIt

_FOR_OPERATORS = "\n## For operators\n"


def rendered(text: str) -> str:
    """HTML of a README, up to the section for operators: volunteers read it.

    Raw HTML in it is shown as text; links are checked by the renderer.
    """
    shown = text.partition(_FOR_OPERATORS)[0]
    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(shown)
    return html
