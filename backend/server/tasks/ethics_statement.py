"""Formats an owner's statement on a task's data and people as sentences, and lists missing answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from backend.formats.task_file import TaskFile
from backend.translation import gettext, later

BASES = {
    "volunteers": later("Volunteers bring their own data and decide for themselves."),
    "agreed": later("The people in the data agreed to this use."),
    "licensed": later("The data are published under a licence that allows this use."),
    "nobody": later("The data are about nobody."),
    "other": later("For another reason."),
}
PEOPLE = {
    "none": later("There are no people in the data."),
    "anonymous": later("The data are about people, but nobody can recognise them."),
    "recognisable": later("The data are about people who can be recognised."),
}
SENSITIVE = {
    True: later("They reveal health, origin, beliefs, politics, sexuality or facts about children."),
    False: later("They reveal nothing about health, origin, beliefs, politics, sexuality or children."),
}


@dataclass(frozen=True)
class Publication:
    """The published statement: `consent` and `people` are our sentences, the others the owner's text.

    A field is empty where the owner gave no answer.
    """

    consent: str
    consent_note: str
    people: str
    care: str
    misuse: str
    benefit: str
    contact: str
    owner: str

    @property
    def said(self) -> bool:
        """Whether any field is filled in."""
        return any(getattr(self, name) for name in self.__dataclass_fields__)


def publication(file: TaskFile) -> Publication:
    """Returns the statement of a task file."""
    consent, ethics = file.consent, file.ethics
    people = [gettext(PEOPLE[ethics.people])] if ethics.people else []
    if ethics.people not in (None, "none") and ethics.sensitive is not None:
        people.append(gettext(SENSITIVE[ethics.sensitive]))
    return Publication(
        gettext(BASES[consent.basis]) if consent.basis else "",
        consent.note,
        " ".join(people),
        ethics.care,
        ethics.misuse,
        ethics.benefit,
        ethics.contact,
        ethics.owner,
    )


def consent_missing(consent: Mapping[str, Any]) -> str | None:
    """Returns a sentence on the missing answer in [consent]; None if it is complete."""
    basis = consent.get("basis")
    if basis not in BASES:
        return gettext("Say why the data may be used.")
    if basis == "other" and not _filled_in(consent, "note"):
        return gettext("Say for which other reason the data may be used.")
    return None


def contact_missing(ethics: Mapping[str, Any]) -> str | None:
    """Returns a sentence on the missing contact in [ethics]; None if there is one."""
    return None if _filled_in(ethics, "contact") else gettext("Give an address that people can write to.")


def ethics_missing(ethics: Mapping[str, Any]) -> list[str]:
    """Returns the missing answers in [ethics], each as a part of a sentence; empty if it is complete.

    `contact_missing` reports the contact.
    """
    return list(_ethics_missing(ethics))


def _ethics_missing(ethics: Mapping[str, Any]) -> Iterator[str]:
    people = ethics.get("people")
    if people not in PEOPLE:
        yield gettext("whether there are people in the data")
    if people in ("anonymous", "recognisable"):
        if not isinstance(ethics.get("sensitive"), bool):
            yield gettext("whether the data tell what is sensitive")
        if not _filled_in(ethics, "care"):
            yield gettext("what protects these people")
    if not _filled_in(ethics, "misuse"):
        yield gettext("how the model could do harm")
    if not _filled_in(ethics, "benefit"):
        yield gettext("who benefits from it")


def _filled_in(table: Mapping[str, Any], key: str) -> bool:
    value = table.get(key)
    return isinstance(value, str) and bool(value.strip())
