"""Renders owners' Markdown as HTML that cannot run scripts."""

from __future__ import annotations

from markdown_it import MarkdownIt

_FOR_OPERATORS = "\n## For operators\n"


def rendered(text: str) -> str:
    """Returns the HTML of a README for volunteers, without its section for operators.

    Raw HTML in the text is escaped; the renderer checks links.
    """
    shown = text.partition(_FOR_OPERATORS)[0]
    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(shown)
    return html
