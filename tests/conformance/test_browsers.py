"""Each kind of training works on the real pages in each browser; `make conformance` writes the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.browsers.abilities import abilities
from tests.conformance.browsers.trainings import TRAININGS, train, write_text
from tests.conformance.browsers_report import MODELS, TABLE
from tests.support.exact.engines import BROWSERS
from tests.support.timeouts import LONG

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long, pytest.mark.timeout(LONG)]


@pytest.mark.parametrize("kind", TRAININGS)
@pytest.mark.parametrize("name", BROWSERS)
def test_a_page_trains_until_its_work_counts(name: str, kind: str, tmp_path: Path) -> None:
    with BROWSERS[name]() as browser:
        seen = train(browser, kind, MODELS, tmp_path)
    assert seen[TRAININGS[kind].counts] > 0
    row = next(line for line in TABLE.read_text("utf-8").splitlines() if TRAININGS[kind].title in line)
    assert row.count("trains with") == len(BROWSERS)


@pytest.mark.parametrize("name", BROWSERS)
def test_a_browser_tells_what_it_has(name: str) -> None:
    with BROWSERS[name]() as browser:
        agent, found = abilities(browser)
    assert agent.startswith("Mozilla/5.0")
    assert found["wasm"]


@pytest.mark.parametrize("name", BROWSERS)
def test_a_page_tries_a_model(name: str, tmp_path: Path) -> None:
    with BROWSERS[name]() as browser:
        assert write_text(browser, MODELS, tmp_path)
