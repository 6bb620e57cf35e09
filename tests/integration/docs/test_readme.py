"""The README is short, and leads each kind of user to a page."""

from __future__ import annotations

import re

from tests.integration.docs.test_docs import ROOT

README = (ROOT / "README.md").read_text("utf-8")


def test_it_fits_one_and_a_half_screens() -> None:
    assert len(README.splitlines()) <= 75


def test_it_has_a_picture_the_two_commands_and_a_way_for_each_kind_of_user() -> None:
    assert re.search(r"^!\[.+\]\(docs/images/", README, re.MULTILINE)
    assert re.findall(r"^make (demo|test) ", README, re.MULTILINE) == ["demo", "test"]
    for user in ("Volunteers", "Owners", "Operators"):
        assert f"- **{user}**" in README
