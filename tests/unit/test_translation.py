"""Sentences of the server are translated where a language is active, and in English elsewhere."""

from __future__ import annotations

import asyncio
from gettext import NullTranslations

from backend.translation import activated, gettext, in_english, later, listed, ngettext


class Shouting(NullTranslations):
    """English in capital letters."""

    def gettext(self, message: str) -> str:
        """NullTranslations' own."""
        return message.upper().replace("%(WORDS)S", "%(words)s").replace("%(LAST)S", "%(last)s")

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """NullTranslations' own."""
        return self.gettext(msgid1 if n == 1 else msgid2)


def test_a_sentence_is_translated_only_while_its_language_is_active() -> None:
    with activated(Shouting()):
        assert gettext("one") == "ONE"
        assert [ngettext("step", "steps", count) for count in (1, 2)] == ["STEP", "STEPS"]
        assert later("one") == "one"
    assert gettext("one") == "one"
    assert [ngettext("step", "steps", count) for count in (1, 2)] == ["step", "steps"]


async def test_a_task_that_is_started_in_english_keeps_to_it() -> None:
    async def host() -> str:
        await asyncio.sleep(0)
        return gettext("one")

    with activated(Shouting()):
        with in_english():
            started = asyncio.create_task(host())
        assert gettext("one") == "ONE"
        assert await started == "one"


async def test_requests_at_the_same_time_each_have_their_own_language() -> None:
    async def request(translations: NullTranslations) -> str:
        with activated(translations):
            await asyncio.sleep(0)
            return await asyncio.to_thread(gettext, "one")

    said = await asyncio.gather(request(Shouting()), request(NullTranslations()))
    assert list(said) == ["ONE", "one"]


def test_words_are_listed_as_in_a_sentence() -> None:
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    with activated(Shouting()):
        assert listed(["a", "b"]) == "a AND b"
