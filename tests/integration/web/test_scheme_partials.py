"""Each scheme brings the partials that pages ask for, with the same words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from backend.server.schemes import SCHEMES
from backend.web.schemes import PARTIALS, WEB_SCHEMES
from scripts.translations.sentences import TEMPLATES

REQUESTED = re.compile(r'\{% (include|import) task\.scheme\|partial\("([\w-]+)"\)( ignore missing)?')
PAGES = [path.read_text("utf-8") for path in TEMPLATES.rglob("*.html")]


def requested(*, optional: bool) -> set[str]:
    """Returns the names of partials that pages ask for: those that a scheme may lack, or those it may not."""
    found = [match for page in PAGES for match in REQUESTED.findall(page)]
    return {name for _, name, may_lack in found if bool(may_lack) is optional}


def words(path: Path) -> set[str]:
    return set(
        re.findall(
            r"\{% (?:set|macro) (\w+)",
            re.sub(r"(?s)\{% macro (\w+).*?endmacro", r"{% set \1", path.read_text()),
        )
    )


def test_every_scheme_has_web_parts() -> None:
    assert set(WEB_SCHEMES) == set(SCHEMES)


@pytest.mark.parametrize("scheme", WEB_SCHEMES)
def test_a_scheme_has_every_partial_that_pages_need(scheme: str) -> None:
    needed = requested(optional=False)
    # What leaves a volunteer's device instead of files: work units are of the server's data alone.
    needed -= {"own-update"} if scheme == "volunteer" else set()
    assert needed >= {"words", "glossary", "data-cost"}
    assert [
        name for name in needed if not (TEMPLATES / WEB_SCHEMES[scheme].partial(TEMPLATES, name)).is_file()
    ] == []


def test_no_partial_of_a_scheme_is_left_over() -> None:
    names = {path.stem for path in (TEMPLATES / PARTIALS).rglob("*.html")}
    assert names == requested(optional=False) | requested(optional=True)


def test_schemes_use_the_same_names_for_their_words() -> None:
    first, *others = (words(path) for path in (TEMPLATES / PARTIALS).rglob("words.html"))
    assert len(first) > 20
    assert all(other == first for other in others)
    used = set(re.findall(r"\bwords\.(?!html)(\w+)", "".join(PAGES)))
    assert used == first


def test_a_missing_partial_is_one_that_does_not_exist() -> None:
    path = WEB_SCHEMES["decentralized"].partial(TEMPLATES, "going-back")
    assert path == "partials/schemes/decentralized/going-back.html"
    assert not (TEMPLATES / path).exists()
