"""Every engine of the class `exact` comes to the committed hashes of the golden bundles."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.browser.static_site import serve
from tests.support.exact.arm64 import arm64_node
from tests.support.exact.engines import BROWSERS, TrainingPage, digest, train_in_node
from tests.support.exact.golden import BUNDLES, STEPS, golden_hashes, golden_work
from tests.support.exact.work import Work
from tests.support.keras.reference_cache import build_harness

# Steps of the short lane.
FEW = (1, 10)
THREADS = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("golden")


@pytest.fixture(scope="module")
def works(folder: Path) -> dict[str, Work]:
    return {name: golden_work(folder, name) for name in BUNDLES}


@pytest.fixture(scope="module")
def origin(folder: Path, works: dict[str, Work]) -> Iterator[str]:
    with serve({"/harness/": build_harness(), "/blobs/": folder / "blobs"}) as address:
        yield address


def expected(steps: tuple[int, ...]) -> dict[str, dict[int, str]]:
    return {name: {n: hashes[n] for n in steps} for name, hashes in golden_hashes().items()}


@pytest.mark.parametrize("engine", BROWSERS)
def test_a_browser_comes_to_the_golden_hashes(engine: str, works: dict[str, Work], origin: str) -> None:
    found = {}
    with BROWSERS[engine]() as browser:
        for name, work in works.items():
            with closing(TrainingPage(browser, origin, work, "exact", THREADS)) as page:
                found[name] = {steps: digest(page.train(steps)[0]) for steps in FEW}
    assert found == expected(FEW)


def test_node_comes_to_the_golden_hashes(works: dict[str, Work]) -> None:
    found = {}
    for name, work in works.items():
        updates = asyncio.run(train_in_node(work, FEW))
        found[name] = {steps: digest(update) for steps, update in updates.items()}
    assert found == expected(FEW)


@pytest.mark.long
@pytest.mark.requires("arm64")
def test_node_on_an_emulated_arm64_comes_to_the_golden_hashes(works: dict[str, Work], tmp_path: Path) -> None:
    node, found = arm64_node(tmp_path), {}
    for name, work in works.items():
        updates = asyncio.run(train_in_node(work, STEPS, node))
        found[name] = {steps: digest(update) for steps, update in updates.items()}
    assert found == golden_hashes()


def test_other_work_has_another_hash(works: dict[str, Work]) -> None:
    hashes = [one for steps in golden_hashes().values() for one in steps.values()]
    assert len(set(hashes)) == len(hashes)
