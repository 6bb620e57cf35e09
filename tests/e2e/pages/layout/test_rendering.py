"""What the pages' Python half decides: which built files belong to a page, and how figures read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backend.server.tasks.formatting import between, number, operations, shape, size
from backend.web.pages.pages import assets
from backend.web.pages.template_words import ENGLISH, TemplateWords, counted

MANIFEST = {
    "_shared.js": {"file": "assets/shared-1.js", "css": ["assets/shared-2.css"], "imports": ["_deep.js"]},
    "_deep.js": {"file": "assets/deep-3.js", "css": ["assets/deep-4.css"], "imports": ["_shared.js"]},
    "task.ts": {"file": "assets/task-5.js", "css": ["assets/task-6.css"], "imports": ["_shared.js"]},
}


def test_an_entry_brings_the_styles_of_all_that_it_imports(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    built = assets(tmp_path, "task.ts")
    assert built is not None
    assert built["script"] == "assets/task-5.js"
    assert built["styles"] == ["assets/task-6.css", "assets/shared-2.css", "assets/deep-4.css"]
    assert built["modules"] == ["assets/shared-1.js", "assets/deep-3.js"]


def test_a_language_brings_its_words_with_the_page(tmp_path: Path) -> None:
    spoken, owners, polish = (f"webapp/locales/{name}" for name in ("es.po?a", "es.po?b", "pl.po?a"))
    words = {
        "_deep.js": {"file": "assets/deep-3.js", "dynamicImports": [spoken, polish, "later.js"]},
        spoken: {"file": "assets/es-7.js", "isDynamicEntry": True},
        owners: {"file": "assets/es-8.js", "isDynamicEntry": True},
        polish: {"file": "assets/pl-9.js", "isDynamicEntry": True},
    }
    (tmp_path / "manifest.json").write_text(json.dumps({**MANIFEST, **words}))
    spanish, english = (assets(tmp_path, "task.ts", language) for language in ("es", "en"))
    assert spanish is not None
    assert english is not None
    assert set(spanish["modules"]) - set(english["modules"]) == {"assets/es-7.js"}


def test_a_new_build_is_seen_without_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({"task.ts": {"file": "old.js"}}))
    assert (assets(tmp_path, "task.ts") or {})["script"] == "old.js"
    path.write_text(json.dumps({"task.ts": {"file": "new.js", "css": []}}))
    assert (assets(tmp_path, "task.ts") or {})["script"] == "new.js"


def test_without_a_build_there_is_nothing(tmp_path: Path) -> None:
    assert assets(tmp_path, "task.ts") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (number(1234567), "1\u202f234\u202f567"),
        (ENGLISH.percent(0.9312), "93.1\u202f%"),
        (ENGLISH.percent(None), "–"),
        (ENGLISH.decimal(0.137832), "0.1378"),
        (ENGLISH.decimal(3.2e-7), "below 0.001"),
        (ENGLISH.decimal(0.0), "0"),
        (size(29960), "30 kB"),
        (size(999), "999 bytes"),
        (size(3.44e6), "3.4 MB"),
        (size(2e10), "20.0 GB"),
        (operations(44_844_357), "45 MFLOP"),
        (operations(3), "3 FLOP"),
        (ENGLISH.calculations(12), "12"),
        (ENGLISH.calculations(4500), "4.5 thousand"),
        (ENGLISH.calculations(3.4e9), "3.4 billion"),
        (TemplateWords("es").calculations(1.23e12), "1,2 billones"),
        (between(6.5, 25), "6.5–25 ms"),
        (between(120, 950), "120–950 ms"),
        (between(400, 1600), "0.4–1.6 s"),
        (shape([8, 8, 16]), "8 × 8 × 16"),
        (shape([]), "1"),
        (shape([None, 3]), "? × 3"),
        (counted(1, "step"), "1 step"),
        (counted(0, "query", "queries"), "0 queries"),
        (ENGLISH.participants(1), "1 participant"),
        (ENGLISH.participants(0), "0 participants"),
    ],
)
def test_figures_read_well(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize(
    ("phase", "participants", "version", "expected"),
    [
        ("waiting", 0, 0, "Waiting for the first volunteer"),
        ("waiting", 0, 3, "Waiting for volunteers"),
        ("waiting", 1, 0, "Waiting for 2 more volunteers"),
        ("waiting", 2, 0, "Waiting for 1 more volunteer"),
        ("waiting", 3, 0, "Waiting for more volunteers"),
        ("training", 2, 3, "Training round 4 now"),
        ("aggregating", 2, 3, "Combining the updates of round 4"),
        ("finished", 0, 50, "Finished: the model is trained"),
    ],
)
def test_a_task_says_how_it_stands(phase: str, participants: int, version: int, expected: str) -> None:
    task = {
        "phase": phase,
        "participants": participants,
        "version": version,
        "round": version + 1,
        "wanted": 3,
        "scheme": "federated",
    }
    assert ENGLISH.standing(task) == expected


def test_a_task_of_work_units_speaks_of_epochs() -> None:
    task = {"phase": "training", "round": 4, "version": 3, "scheme": "volunteer"}
    assert ENGLISH.standing(task) == "Working through epoch 4 now"
