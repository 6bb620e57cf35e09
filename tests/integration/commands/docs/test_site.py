"""How docs/ becomes pages: navigation, links, style, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from backend.commands.docs.site import build_site, source_hash
from backend.commands.docs.site_hooks import list_of_decisions, navigation, relink, stylesheet
from backend.errors import SiteError

ROOT = Path(__file__).parents[4]


def test_sections_of_the_index_become_the_navigation() -> None:
    index = (
        "# Docs\n\n**Begin**\n\n- [A](tutorial/a.md), then [B](how-to/b.md#c)\n\n"
        "**More**\n\n- [P](../CONTRIBUTING.md)\n"
    )
    assert navigation(index) == [
        {"Begin": ["tutorial/a.md", "how-to/b.md"]},
        {"More": ["contributing.md"]},
    ]


@pytest.mark.parametrize(
    ("uri", "source", "link", "moved"),
    [
        ("how-to/a.md", "docs/how-to/a.md", "b.md#part", "b.md#part"),
        ("how-to/a.md", "docs/how-to/a.md", "../../CHANGELOG.md", "../changes.md"),
        ("README.md", "docs/README.md", "decisions", "decisions/README.md"),
        ("contributing.md", "CONTRIBUTING.md", "CHANGELOG.md", "changes.md"),
        ("contributing.md", "CONTRIBUTING.md", "docs/how-to/a.md", "how-to/a.md"),
        ("how-to/a.md", "docs/how-to/a.md", "https://example.org/b.md", "https://example.org/b.md"),
        ("how-to/a.md", "docs/how-to/a.md", "#part", "#part"),
    ],
)
def test_links_of_the_repository_lead_to_the_same_page_on_the_site(
    uri: str, source: str, link: str, moved: str
) -> None:
    assert relink(f"[x]({link})", uri, source) == f"[x]({moved})"


def test_decisions_are_listed_by_number_with_their_titles() -> None:
    page = list_of_decisions({"0002-b.md": "# Second\n\ntext", "0001-a.md": "# First\n"})
    assert page.index("[First](0001-a.md)") < page.index("[Second](0002-b.md)")


def test_a_stylesheet_takes_in_those_that_it_imports(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "all.css").write_text('/* all */\n@import "./parts/a.css";\nb {\n}\n')
    (tmp_path / "parts/a.css").write_text('@import "./c.css";\na {\n}\n')
    (tmp_path / "parts/c.css").write_text("c {\n}\n")
    assert stylesheet(tmp_path / "all.css") == "/* all */\nc {\n}\na {\n}\nb {\n}\n"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A checkout with our theme and settings, and two pages."""
    root = tmp_path / "checkout"
    for folder in (
        "backend/commands/docs",
        "docs/how-to",
        "docs/decisions",
        "webapp/static/src/ui/styles",
    ):
        (root / folder).mkdir(parents=True)
    for name in (
        "mkdocs.yml",
        "backend/commands/docs/site_hooks.py",
        "webapp/static/src/ui/styles/minga.css",
    ):
        shutil.copy(ROOT / name, root / name)
    styles = "webapp/static/src/ui/styles"
    shutil.copytree(ROOT / styles, root / styles, dirs_exist_ok=True)
    shutil.copytree(ROOT / "webapp/docs/theme", root / "webapp/docs/theme")
    (root / "webapp/templates").mkdir()
    shutil.copy(ROOT / "webapp/templates/logo.svg", root / "webapp/templates")
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        (root / name).write_text(f"# {Path(name).stem}\n")
    links = (
        "how-to/a.md",
        "../CHANGELOG.md",
        "../CONTRIBUTING.md",
    )
    index = "".join(f"- [page]({link})\n" for link in (*links, "decisions"))
    (root / "docs/README.md").write_text(f"# Documentation\n\n**All**\n\n{index}")
    (root / "docs/decisions/0001-x.md").write_text("# X\n")
    (root / "docs/how-to/a.md").write_text("# A\n\nSee [changes](../../CHANGELOG.md).\n")
    return root


def test_pages_are_made_once_and_again_when_one_changes(small: Path, tmp_path: Path) -> None:
    dist = tmp_path / "out/dist"
    assert build_site(small, dist) == "6 pages."
    assert 'href="../../changes/"' in (dist / "how-to/a/index.html").read_text("utf-8")
    assert build_site(small, dist) == "up to date."
    (small / "docs/how-to/a.md").write_text("# Another A\n")
    assert build_site(small, dist) == "6 pages."
    assert "Another A" in (dist / "how-to/a/index.html").read_text("utf-8")
    assert [path.name for path in dist.parent.iterdir()] == ["dist"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("# A\n\n[b](b.md)\n", "b.md"),
        ("# A\n\n[b](../README.md#nowhere)\n", "nowhere"),
        ("# A\n\n[code](../../backend/errors.py)\n", "errors.py"),
    ],
)
def test_a_link_that_leads_nowhere_is_refused_and_the_pages_stay_as_they_were(
    small: Path, tmp_path: Path, text: str, complaint: str
) -> None:
    dist = tmp_path / "dist"
    build_site(small, dist)
    before = (dist / "how-to/a/index.html").read_text("utf-8")
    (small / "docs/how-to/a.md").write_text(text)
    with pytest.raises(SiteError, match=r"how-to/a\.md") as caught:
        build_site(small, dist)
    assert complaint in str(caught.value)
    assert (dist / "how-to/a/index.html").read_text("utf-8") == before


def test_a_page_that_the_index_does_not_name_is_refused(small: Path, tmp_path: Path) -> None:
    (small / "docs/how-to/forgotten.md").write_text("# Forgotten\n")
    with pytest.raises(SiteError, match=r"how-to/forgotten\.md"):
        build_site(small, tmp_path / "dist")


def test_an_installed_package_keeps_the_pages_that_it_came_with(tmp_path: Path) -> None:
    assert build_site(tmp_path, tmp_path / "dist") == "as they came with the package."
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize(
    "name", ["docs/how-to/a.md", "mkdocs.yml", "webapp/docs/theme/docs.css", "CHANGELOG.md"]
)
def test_every_source_of_the_pages_counts(small: Path, name: str) -> None:
    before = source_hash(small)
    (small / name).write_text((small / name).read_text("utf-8") + "\n")
    assert source_hash(small) != before
