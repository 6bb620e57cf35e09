"""What is wrong in the text of a task file, by line."""

from __future__ import annotations

import pytest

from backend.formats.task_file.reading.diagnostics import MAX_PROBLEMS, Problem, line_of, problems
from backend.server.drafts.task_tables import begin
from backend.server.drafts.toml import to_toml

SOUND = to_toml(begin("cats", "Cats"))


def test_a_sound_task_file_has_no_problem() -> None:
    assert problems(SOUND) == []


@pytest.mark.parametrize(
    ("before", "after", "line", "sentence"),
    [
        ('title = "Cats"', "title = 5", 2, "`title` should be a text in quotes, not a whole number."),
        ('title = "Cats"', f'title = "{"x" * 301}"', 2, "`title` should have at most 300 characters."),
        ("batch_size = 32", 'batch_size = "x"', 5, "`model.batch_size` should be a whole number, not a text"),
        ("batch_size = 32", "batch_size = 0", 5, "`model.batch_size` should be a whole number, at least 1."),
        ("batch_size = 32", "batch = 32", 5, "There is no key `batch` in [model]."),
        ("batch_size = 32", "", 4, "[model] lacks the key `batch_size`."),
        ('source = "shards"', 'source = "shard"', 10, "`data.source` cannot be 'shard'"),
        ("deadline = 120", "deadline 120", 17, "This is not valid TOML: Expected '='"),
        ("deadline = 120", "deadline = [1, 2", 17, "Unclosed array, at its end."),
        ("[coordination]", "[colours]", None, "`coordination` is missing."),
        ("[coordination]", "[colours]", 13, "There is no key or table called `colours` in a task file."),
        ('name = "cats"', 'name = "../cats"', 1, "a name is made of a-z, 0-9 and -."),
        (
            "deadline = 120",
            "deadline = 120\n[security]\naggregation = ['masked']\n[training]\ncontrol_variates = true",
            None,
            "control variate",
        ),
    ],
)
def test_a_fault_is_told_in_words_with_its_line(
    before: str, after: str, line: int | None, sentence: str
) -> None:
    assert before in SOUND
    found = problems(SOUND.replace(before, after))
    assert any(one.line == line and sentence in one.text for one in found), found


def test_faults_of_several_tables_are_told_at_once_in_their_order() -> None:
    text = SOUND.replace("batch_size = 32", "batch_size = 0").replace("rounds = 20", "rounds = 0")
    assert [one.line for one in problems(text)] == [5, 15]


def test_of_thousands_of_faults_the_first_are_told() -> None:
    text = "".join(f"k{number} = 1\n" for number in range(20_000))
    assert len(problems(text)) == MAX_PROBLEMS


def test_endless_brackets_are_a_problem_and_no_crash() -> None:
    assert "not valid TOML" in problems("a = " + "[" * 100_000)[0].text


def test_a_key_in_a_table_within_a_table_is_found_by_its_line() -> None:
    text = "[a]\nb = 1\n[a.'c'.d]\ne.f = 2\n"
    assert [line_of(text, path.split(".")) for path in ("a.b", "a.c.d.e.f", "a.c.d.g", "z")] == [
        2,
        4,
        3,
        None,
    ]


def test_what_a_draft_may_not_say_is_a_problem_too() -> None:
    def mend(tables: dict[str, object]) -> dict[str, object]:
        return tables | {"title": 5}

    assert problems(SOUND, mend) == [Problem(2, "`title` should be a text in quotes, not a whole number.")]
