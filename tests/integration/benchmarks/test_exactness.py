"""The same training has the same bits in every browser, with any number of threads, and in Node.js."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from backend.commands.build import build_task
from benchmarks import exactness
from benchmarks.support.exact_models import GALLERY, prepare
from tests.support.browser.chromium import chromium
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import ROOT, build_harness


@pytest.fixture(scope="module", autouse=True)
def _gallery() -> None:
    for name in GALLERY:
        build_task(ROOT / "models" / name)


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[exactness.Engines]:
    with ExitStack() as stack:
        yield exactness.start(exactness.USUAL, stack, tmp_path_factory.mktemp("engines"))


def test_rows_count_the_different_results_of_each_number_of_steps() -> None:
    ones, zeros = np.ones(2, np.float32), np.zeros(2, np.float32)
    rows = exactness.rows_of("mlp", {"node": {1: ones, 2: ones}, "firefox": {1: ones, 2: zeros}})
    groups = [(row["engine"], row["steps"], row["groups"]) for row in rows]
    assert groups == [("node", 1, 1), ("node", 2, 2), ("firefox", 1, 1), ("firefox", 2, 2)]


@pytest.mark.long
@pytest.mark.browser
def test_engines_agree_and_relaxed_kernels_do_not() -> None:
    found = exactness.measure(GALLERY, [1, 10], ["chromium", "node"], ops=False)
    assert [one["groups"] for one in found["models"]] == [1, 1]
    engines = {row["engine"] for row in found["rows"]}
    assert engines == {"node", *(f"chromium, {n} threads" for n in exactness.THREADS)}
    assert {row["groups"] for row in found["rows"]} == {1}
    assert len({row["sha256"] for row in found["rows"]}) == 4
    assert all(one["relaxed_distance"] > 0.0 for one in found["models"])


@pytest.mark.long
@pytest.mark.parametrize("model", exactness.MODELS)
def test_every_engine_trains_a_model_to_the_same_bits(
    model: str, engines: exactness.Engines, tmp_path: Path
) -> None:
    work = prepare(tmp_path / "files", model)
    with serve({"/harness/": build_harness(), "/blobs/": work.folder}) as origin:
        rows = exactness.rows_of(model, engines.updates(work, origin, exactness.STEPS))
    assert len(rows) == len(exactness.STEPS) * (1 + 3 * len(exactness.THREADS))
    assert {row["groups"] for row in rows} == {1}


@pytest.mark.browser
def test_a_browser_without_simd_does_not_belong_to_the_class() -> None:
    with serve({"/harness/": build_harness()}) as origin, chromium() as browser:
        tab = browser.open(f"{origin}/harness/index.html")
        script = "options => window.chooseKernels(options, 'exact')"
        assert not tab.evaluate(script, {"simd": False})
        tab.close()
