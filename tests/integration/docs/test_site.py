"""The documentation as pages of the server: all of it, with links that lead somewhere, from here alone."""

from __future__ import annotations

import posixpath
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
from markdown_it import MarkdownIt

from backend.commands.docs.site import build_site
from backend.commands.docs.site_hooks import OUTSIDE_DOCS
from tests.integration.docs.test_docs import ROOT

ADDRESS = "https://minga.example/docs/"


class Elements(HTMLParser):
    """Tags of a page with their attributes, those of its text alone, and the ids that links may name."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.all: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.ids: set[str] = set()
        self._inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.all.append((tag, given))
        self.ids.add(given.get("id", ""))
        self._inside |= tag == "article"
        if self._inside:
            self.text.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._inside &= tag != "article"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dist = tmp_path_factory.mktemp("site") / "dist"
    build_site(ROOT, dist)
    return dist


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Elements]:
    """By address on the server."""
    found = {path.parent.relative_to(site).as_posix(): path for path in site.rglob("index.html")}
    return {
        urljoin(ADDRESS, "" if name == "." else f"{name}/"): Elements(path.read_text("utf-8"))
        for name, path in found.items()
    }


def address_of(uri: str) -> str:
    folder = posixpath.dirname(uri) if posixpath.basename(uri) == "README.md" else uri.removesuffix(".md")
    return urljoin(ADDRESS, f"{folder}/" if folder else "")


def sources() -> dict[str, Path]:
    docs = {path.relative_to(ROOT / "docs").as_posix(): path for path in (ROOT / "docs").rglob("*.md")}
    return docs | {uri: ROOT / source for uri, source in OUTSIDE_DOCS.items()}


def test_every_page_reads_the_same_on_the_site_and_in_the_repository(pages: dict[str, Elements]) -> None:
    parser = MarkdownIt("commonmark").enable("table")
    for uri, source in sources().items():
        there = re.findall(r"<([a-z0-9]+)", parser.render(source.read_text("utf-8")))
        here = pages[address_of(uri)].text
        for tag in ("h1", "h2", "h3", "li", "table", "tr", "pre", "img", "a", "strong", "ol", "ul"):
            assert here.count(tag) == there.count(tag), f"{uri}: {tag}"


def test_every_link_of_the_site_leads_to_a_page_and_a_place_on_it(
    site: Path, pages: dict[str, Elements]
) -> None:
    for address, page in pages.items():
        for tag, given in page.all:
            target, place = urldefrag(urljoin(address, given.get("href") or given.get("src") or ""))
            if not target.startswith(ADDRESS):
                continue
            if target in pages:
                assert not place or place in pages[target].ids, f"{address}: {target}#{place}"
            else:
                assert (site / target.removeprefix(ADDRESS)).is_file(), f"{address}: {tag} {target}"


def test_pages_fetch_from_their_own_server_alone_and_bring_no_inline_code(pages: dict[str, Elements]) -> None:
    for address, page in pages.items():
        for tag, given in page.all:
            assert tag != "style", address
            assert tag != "script" or given.get("src"), address
            assert not [name for name in given if name == "style" or name.startswith("on")], (
                address,
                tag,
                given,
            )
            fetched = given.get("src") or (given.get("href") if tag == "link" else "")
            assert urljoin(address, fetched or "").startswith(ADDRESS), (address, fetched)


def test_the_navigation_leads_to_every_page_but_single_decisions(pages: dict[str, Elements]) -> None:
    home = pages[ADDRESS]
    linked = {urldefrag(urljoin(ADDRESS, given["href"]))[0] for tag, given in home.all if tag == "a"}
    assert {page for page in pages if "/decisions/0" not in page} <= linked


def test_drawings_scroll_where_a_screen_is_too_small_for_what_is_written_in_them(site: Path) -> None:
    page = (site / "explanation/mesh/index.html").read_text("utf-8")
    boxed = re.findall(r'aria-label="Picture" tabindex="0"><img [^>]*src="([^"]+)"', page)
    assert [posixpath.basename(source) for source in boxed] == ["group.svg", "masks.svg"]
