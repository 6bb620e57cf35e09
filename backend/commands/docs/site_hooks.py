"""MkDocs hooks (see mkdocs.yml) that build the navigation, add pages from outside docs/ and fix links.

Files keep the form that suits the repository; these hooks make the changes that the site needs.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# Pages of the site whose files are outside docs/.
OUTSIDE_DOCS = {
    "changes.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
DECISIONS = "decisions/README.md"

_SECTION = re.compile(r"^\*\*(.+)\*\*$")
_LINK = re.compile(r"\]\(([^)\s:#]+)(#[^)\s]*)?\)")
_DRAWING = re.compile(r'<p>(<img [^>]*\.svg"[^>]*>)</p>')
_IMPORT = re.compile(r'^@import "(\./[^"]+)";\n', re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Uses the index of docs/ as navigation."""
    docs = Path(config.docs_dir)
    config.nav = ["README.md", *navigation((docs / "README.md").read_text("utf-8"))]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds pages from outside docs/, the list of decisions, the web app's stylesheet and the logo."""
    root = Path(config.docs_dir).parent
    for uri, source in OUTSIDE_DOCS.items():
        files.append(File.generated(config, uri, abs_src_path=str(root / source)))
    decisions = {path.name: path.read_text("utf-8") for path in (root / "docs/decisions").glob("*.md")}
    files.append(File.generated(config, DECISIONS, content=list_of_decisions(decisions)))
    style = stylesheet(root / "webapp/static/src/ui/styles/minga.css")
    files.append(File.generated(config, "minga.css", content=style))
    logo = root / "webapp/templates/logo.svg"
    files.append(File.generated(config, "logo.svg", abs_src_path=str(logo)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Converts links between files of the repository to links between pages of the site."""
    uri = page.file.src_uri
    return relink(markdown, uri, OUTSIDE_DOCS.get(uri, f"docs/{uri}"))


def on_page_content(html: str, **_: Any) -> str:
    """Puts wide tables, drawings and code into scroll boxes that the keyboard can reach, too."""
    html = html.replace("<table>", f"{_box('Table')}<table>").replace("</table>", "</table></div>")
    html = _DRAWING.sub(lambda drawing: f"{_box('Picture')}{drawing[1]}</div>", html)
    return html.replace("<pre>", '<pre tabindex="0">')


def _box(what: str) -> str:
    return f'<div class="docs-scroll" role="group" aria-label="{what}" tabindex="0">'


def navigation(index: str) -> list[dict[str, Any]]:
    """Converts the sections of docs/README.md, a `**Title**` with a list below, to MkDocs' `nav`."""
    sections: list[dict[str, Any]] = []
    for line in index.splitlines():
        if title := _SECTION.match(line):
            sections.append({title[1]: []})
        elif sections and line.startswith("- "):
            pages = next(iter(sections[-1].values()))
            pages += [place_of(posixpath.normpath(f"docs/{link[1]}")) for link in _LINK.finditer(line)]
    return sections


def relink(markdown: str, uri: str, source: str) -> str:
    """Converts links relative to the file `source` of the repository to links relative to the page `uri`."""

    def moved(link: re.Match[str]) -> str:
        target = place_of(posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1])))
        return f"]({posixpath.relpath(target, posixpath.dirname(uri) or '.')}{link[2] or ''})"

    return _LINK.sub(moved, markdown)


def place_of(path: str) -> str:
    """Returns the site's path of a repository file; MkDocs reports an error if it does not exist."""
    if path == "docs/decisions":
        return DECISIONS
    places = {source: uri for uri, source in OUTSIDE_DOCS.items()}
    return places.get(path, posixpath.relpath(path, "docs"))


def list_of_decisions(decisions: dict[str, str]) -> str:
    """Makes a page with a link to each decision, sorted by file name, with the title from its first line."""
    lines = [
        f"- [{text.partition(chr(10))[0].removeprefix('# ')}]({name})"
        for name, text in sorted(decisions.items())
    ]
    return "\n".join(["# Decisions", "", "The main decisions and their reasons.", "", *lines, ""])


def stylesheet(path: Path) -> str:
    """Reads a stylesheet and inlines its imports."""
    text = path.read_text("utf-8")
    return _IMPORT.sub(lambda match: stylesheet(path.parent / match[1]), text)
