"""The command prints figures, compares with a revision, and fails where a figure is above its ceiling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.layout.command import main
from scripts.layout.settings import lower_ceilings, read_settings
from tests.unit.scripts.repository import commit, repository, write

HOUSE = """\
[ceilings]
sentence_aliases = {aliases}
circles = 2

[shared_class_names]

[aliases]
np = "numpy"
"""
ONE = "from backend import effects as do\n"
TWO = ONE + "from backend import messages as say\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with one alias, which its ceiling allows."""
    return repository(tmp_path, {"backend/one.py": ONE, "house.toml": HOUSE.format(aliases=1)})


def check(root: Path) -> int:
    return main(["--check"], root, root / "house.toml")


def test_what_its_ceiling_allows_passes_and_is_not_asked_for_again(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(root) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith("Better than its ceiling: circles.")


def test_one_more_fails_and_only_the_new_one_is_named(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(root, {"backend/one.py": TWO})
    assert check(root) == 1
    assert capsys.readouterr().err == (
        "sentence_aliases is 2, and may be 1 at most. Import the module by its own name. New:\n"
        "  backend/one.py:2: messages as say\n"
    )


def test_a_culprit_that_moved_is_not_new(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "backend/one.py").unlink()
    write(root, {"backend/moved.py": TWO})
    assert check(root) == 1
    assert "backend/moved.py:2: messages as say\n" in (printed := capsys.readouterr().err)
    assert "effects as do" not in printed


def test_without_a_commit_of_the_ceilings_all_are_named(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(root, {"new.toml": HOUSE.format(aliases=0)})
    assert main(["--check"], root, root / "new.toml") == 1
    assert "All:\n  backend/one.py:1: effects as do\n" in capsys.readouterr().err


def test_a_revision_is_shown_beside_the_working_tree(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit(root, {"backend/one.py": TWO})
    words = ["--before", "HEAD~1", "--list", "sentence_aliases"]
    assert main(words, root, root / "house.toml") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["figure", "before", "after", "goal", "ceiling"]
    assert "sentence_aliases         1      2     0        1" in lines
    assert lines[-1] == "  backend/one.py:2: messages as say"


def test_json_has_counts_goals_and_culprits(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "--before", "HEAD"], root, root / "house.toml") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["sentence_aliases"] == {
        "count": 1,
        "goal": 0,
        "before": 1,
        "culprits": ["backend/one.py:1: effects as do"],
    }
    assert figures["files_over_400"]["goal"] is None


def test_lowering_never_raises_a_ceiling_and_changes_nothing_else(root: Path) -> None:
    write(root, {"backend/one.py": TWO})
    assert main(["--lower"], root, root / "house.toml") == 0
    assert (root / "house.toml").read_text() == HOUSE.format(aliases=1).replace("circles = 2", "circles = 0")
    assert (
        lower_ceilings("[ceilings]\na = 3\n\n[b]\na = 3\n", {"a": 1}) == "[ceilings]\na = 1\n\n[b]\na = 3\n"
    )


def test_an_unknown_revision_ends_with_what_git_says(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--before", "nothing"], root, root / "house.toml") == 2
    assert "not a valid object name: nothing" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_named(root: Path) -> None:
    write(root, {"backend/one.py": "def\n"})
    with pytest.raises(ValueError, match=r"backend/one\.py: invalid syntax"):
        check(root)


def test_the_ceilings_of_this_repository_are_of_figures_that_have_goals() -> None:
    settings = read_settings()
    assert set(settings.ceilings) == {
        "folders_over_20",
        "circles",
        "shared_class_names",
        "sentence_aliases",
        "host_isinstance",
        "old_words",
    }
    assert len(settings.shared_names) <= 10
    assert all(settings.shared_names.values())
