"""Finds what templates say to people without looking it up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, nodes

# Attributes that people read or hear.
READ = {"alt", "aria-label", "placeholder", "title"}
# Where text is none for people, or the name of something, which is the same in all languages.
NAMES = {
    "Minga",
    "WebGPU",
    "WebGL",
    "WebAssembly",
    "JavaScript",
    "width=device-width, initial-scale=1",
    "light dark",
}
WORD = re.compile(r"[A-Za-z]{2,}")


def unmarked(template: Path) -> list[str]:
    """What `template` says to people without looking it up."""
    environment = Environment(
        loader=FileSystemLoader(template.parent), extensions=["jinja2.ext.i18n"], autoescape=True
    )
    tree = environment.parse(template.read_text(encoding="utf-8"))
    page = _Page()
    page.feed("".join(_written(tree)))
    page.close()
    said = [text.strip(" ·\n") for text in page.said if WORD.search(text)]
    return [text for text in said if text not in NAMES] + [
        text for text in _constants(tree) if text not in NAMES
    ]


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """html.parser's own."""
        described = tag == "meta" and ("name", "description") in attrs
        self.said += [
            text for name, text in attrs if text and (name in READ or (described and name == "content"))
        ]

    def handle_data(self, data: str) -> None:
        """html.parser's own."""
        self.said.append(data)


def _written(tree: nodes.Template) -> Iterator[str]:
    """The HTML as it stands in the template, without what is looked up or worked out."""
    for output in tree.find_all(nodes.Output):
        for part in output.nodes:
            yield part.data if isinstance(part, nodes.TemplateData) else ""


def _constants(node: nodes.Node) -> Iterator[str]:
    """Texts in expressions that look like sentences and go to nobody who looks them up."""
    for child in node.iter_child_nodes():
        looked_up = isinstance(child, nodes.Call) and isinstance(child.node, nodes.Name)
        if looked_up and child.node.name in {"_", "gettext", "ngettext"}:  # type: ignore[attr-defined]
            continue
        if (
            isinstance(child, nodes.Const)
            and isinstance(child.value, str)
            and re.match(r"[A-Z][a-z]+", child.value)
        ):
            yield child.value
        yield from _constants(child)
