"""Both languages name the same participants alike."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from backend.web.pages.participant_names import ANIMALS, COLOURS, participant_name

SCRIPT = Path(__file__).parents[2] / "webapp/static/src/i18n/texts/volunteers/participant-names.ts"


def test_the_page_has_the_same_words_in_the_same_order() -> None:
    words = re.findall(r'^  _\("(.+)"\),$', SCRIPT.read_text("utf-8"), re.MULTILINE)
    assert words == [*COLOURS, *ANIMALS]


# The same in tests/unit/webapp/i18n/participant-names.test.ts.
@pytest.mark.parametrize(
    ("client", "name"),
    [
        ("0000ffffffffffff", "turquoise llama"),
        ("0001000000000000", "turquoise alpaca"),
        ("0040000000000000", "violet llama"),
        ("03ff000000000000", "coral hare"),
        ("ffff000000000000", "coral hare"),
    ],
)
def test_a_name_follows_from_the_id(client: str, name: str) -> None:
    assert participant_name(client) == name
