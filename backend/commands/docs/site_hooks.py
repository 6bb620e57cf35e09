"""How MkDocs makes pages of docs/ (see mkdocs.yml): the navigation, pages from elsewhere, and links.

Files stay as they read best in the repository; what differs on the site is changed here while it is built.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# Pages of the site that lie elsewhere in the repository.
ELSEWHERE = {
    "reference/rounds-on-the-wire.md": "backend/wire/PROTOCOL.md",
    "reference/mesh-on-the-wire.md": "backend/wire/MESH.md",
    "reference/units-on-the-wire.md": "backend/wire/UNITS.md",
    "changes.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
DECISIONS = "decisions/README.md"

_SECTION = re.compile(r"^\*\*(.+)\*\*$")
_LINK = re.compile(r"\]\(([^)\s:#]+)(#[^)\s]*)?\)")
_DRAWING = re.compile(r'<p>(<img [^>]*\.svg"[^>]*>)</p>')
_IMPORT = re.compile(r'^@import "(\./[^"]+)";\n', re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The index of docs/ is the navigation, too."""
    docs = Path(config.docs_dir)
    config.nav = ["README.md", *navigation((docs / "README.md").read_text("utf-8"))]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages from elsewhere, the list of decisions, the web app's stylesheet and the logo."""
    root = Path(config.docs_dir).parent
    for uri, source in ELSEWHERE.items():
        files.append(File.generated(config, uri, abs_src_path=str(root / source)))
    decisions = {path.name: path.read_text("utf-8") for path in (root / "docs/decisions").glob("*.md")}
    files.append(File.generated(config, DECISIONS, content=list_of_decisions(decisions)))
    style = stylesheet(root / "webapp/static/src/ui/styles/minga.css")
    files.append(File.generated(config, "minga.css", content=style))
    logo = root / "webapp/templates/logo.svg"
    files.append(File.generated(config, "logo.svg", abs_src_path=str(logo)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links between files of the repository become links between pages of the site."""
    uri = page.file.src_uri
    return relink(markdown, uri, ELSEWHERE.get(uri, f"docs/{uri}"))


def on_page_content(html: str, **_: Any) -> str:
    """Wide tables, drawings and programs scroll in boxes of their own, also for who has a keyboard alone."""
    html = html.replace("<table>", f"{_box('Table')}<table>").replace("</table>", "</table></div>")
    html = _DRAWING.sub(lambda drawing: f"{_box('Picture')}{drawing[1]}</div>", html)
    return html.replace("<pre>", '<pre tabindex="0">')


def _box(what: str) -> str:
    return f'<div class="docs-scroll" role="group" aria-label="{what}" tabindex="0">'


def navigation(index: str) -> list[dict[str, Any]]:
    """Sections of docs/README.md, `**Title**` and a list under it, as MkDocs' `nav`: each page once."""
    sections: list[dict[str, Any]] = []
    for line in index.splitlines():
        if title := _SECTION.match(line):
            sections.append({title[1]: []})
        elif sections and line.startswith("- "):
            pages = next(iter(sections[-1].values()))
            pages += [place_of(posixpath.normpath(f"docs/{link[1]}")) for link in _LINK.finditer(line)]
    return sections


def relink(markdown: str, uri: str, source: str) -> str:
    """`markdown` whose links, relative to `source` in the repository, become relative to page `uri`."""

    def moved(link: re.Match[str]) -> str:
        target = place_of(posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1])))
        return f"]({posixpath.relpath(target, posixpath.dirname(uri) or '.')}{link[2] or ''})"

    return _LINK.sub(moved, markdown)


def place_of(path: str) -> str:
    """Where a file of the repository stands on the site; MkDocs complains of what stands nowhere."""
    if path == "docs/decisions":
        return DECISIONS
    places = {source: uri for uri, source in ELSEWHERE.items()}
    return places.get(path, posixpath.relpath(path, "docs"))


def list_of_decisions(decisions: dict[str, str]) -> str:
    """A page with a link to each decision, by its file's name and the title that it begins with."""
    lines = [
        f"- [{text.partition(chr(10))[0].removeprefix('# ')}]({name})"
        for name, text in sorted(decisions.items())
    ]
    return "\n".join(
        ["# Decisions", "", "What was decided, when there was a choice, and why.", "", *lines, ""]
    )


def stylesheet(path: Path) -> str:
    """A stylesheet with those that it imports in their places."""
    text = path.read_text("utf-8")
    return _IMPORT.sub(lambda found: stylesheet(path.parent / found[1]), text)
