"""What the check of translations finds, with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.translations.checks import problems
from scripts.translations.script_reader import marked_sentences
from scripts.translations.sentences import Sentence

SOURCE = Path("page.ts")
STOP = Sentence("Stop", "", SOURCE, 3)
UNITS = Sentence("%(count)s unit of %(all)s", "%(count)s units of %(all)s", SOURCE, 4)
HEADER = """msgid ""
msgstr "Plural-Forms: nplurals=2; plural=(n != 1);\\n"

"""
GOOD = """
msgid "Stop"
msgstr "Parar"

#, python-format
msgid ""
"%(count)s unit "
"of %(all)s"
msgid_plural "%(count)s units of %(all)s"
msgstr[0] "%(count)s unidad de %(all)s"
msgstr[1] "%(count)s unidades de %(all)s"
"""


def found(folder: Path, text: str) -> list[tuple[str, int, str]]:
    """Returns the file, line and text of each problem."""
    path = folder / "es.po"
    path.write_text(text, encoding="utf-8")
    return [(problem.path.name, problem.line, problem.text) for problem in problems(path, [STOP, UNITS])]


def test_nothing_is_wrong_with_a_complete_translation(tmp_path: Path) -> None:
    assert found(tmp_path, HEADER + GOOD) == []


@pytest.mark.parametrize(
    ("was", "is_now", "line", "problem"),
    [
        ('"Parar"', '""', 5, "it is not translated: Stop"),
        ('"Parar"', '"Parar %(now)s"', 5, "its placeholders differ by %(now)s: Stop"),
        ('"Parar"', '"Parar %(now"', 5, "it has a malformed placeholder: Stop"),
        ('msgid "Stop"', '#, fuzzy\nmsgid "Stop"', 6, "it is marked as fuzzy: Stop"),
        ("unidad de %(all)s", "unidad", 9, "its placeholders differ by %(all)s: %(count)s unit of %(all)s"),
        (
            "msgstr[1]",
            'msgstr[2] "%(count)s de %(all)s"\nmsgstr[1]',
            9,
            "the plural forms are not numbered from 0: msgstr[0], msgstr[2], msgstr[1]",
        ),
        (
            'msgstr[1] "%(count)s unidades de %(all)s"\n',
            "",
            9,
            "it has 1 of 2 forms: %(count)s unit of %(all)s",
        ),
        ('msgstr "Parar"', 'msgstr "Parar', 6, 'this is no part of an entry: msgstr "Parar'),
        ('msgstr "Parar"', "", 5, "this entry lacks its msgid or msgstr"),
        ('msgid "Stop"', 'msgctxt "card"\nmsgid "Stop"', 5, "contexts are not supported"),
    ],
)
def test_a_wrong_entry_is_found_with_its_line(
    tmp_path: Path, was: str, is_now: str, line: int, problem: str
) -> None:
    [(file, at, text)] = found(tmp_path, HEADER + GOOD.replace(was, is_now))
    assert (file, at) == ("es.po", line)
    assert text.startswith(problem)


@pytest.mark.parametrize(
    ("forms", "problem"),
    [
        ("", "the header has no Plural-Forms"),
        ("Plural-Forms: nplurals=2; plural=(n != ;\\n", "the plural expression is malformed"),
        ("Plural-Forms: nplurals=3; plural=n != 1;\\n", "the plural expression gives the forms [0, 1]"),
    ],
)
def test_a_wrong_header_is_found(tmp_path: Path, forms: str, problem: str) -> None:
    [(_, line, text)] = found(tmp_path, f'msgid ""\nmsgstr "{forms}"\n{GOOD}')
    assert line == 1
    assert text.startswith(problem)


def test_missing_superfluous_and_repeated_entries_are_found(tmp_path: Path) -> None:
    text = HEADER + GOOD.replace("Stop", "Halt") + '\nmsgid "Halt"\nmsgstr "Alto"\n'
    assert found(tmp_path, text) == [
        ("es.po", 5, "nothing uses it: Halt"),
        ("es.po", 16, "line 5 has it: Halt"),
        ("page.ts", 3, "es.po has no translation of: Stop"),
    ]


def test_an_entry_with_another_plural_is_found(tmp_path: Path) -> None:
    text = HEADER + GOOD.replace('msgid_plural "%(count)s units', 'msgid_plural "%(count)s UNITS')
    assert found(tmp_path, text) == [("page.ts", 4, "es.po has another plural of: %(count)s unit of %(all)s")]


def test_marks_in_typescript_are_found_also_within_each_other() -> None:
    script = """
    export const say = {
      stop: _("Stop"),
      units: (done: readonly number[], all: number): string =>
        ngettext("%(count)s of %(all)s", "%(count)s of them", done.length, { all: units(all) ?? _("none") }),
      named: (name: keyof Names<string>) => _(
        "Called “%(name)s”", { name }),
      dynamic: _(name),
      sent: laterPlural("%(count)s file", "%(count)s files", 2, { what: later("none") }),
    };
    """
    assert list(marked_sentences(script)) == [
        (3, ["Stop"]),
        (5, ["%(count)s of %(all)s", "%(count)s of them"]),
        (5, ["none"]),
        (6, ["Called “%(name)s”"]),
        (9, ["%(count)s file", "%(count)s files"]),
        (9, ["none"]),
    ]
