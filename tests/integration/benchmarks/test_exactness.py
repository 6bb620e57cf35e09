"""The same training has the same bits in a browser, with any number of threads, and in Node.js."""

from __future__ import annotations

import pytest

from backend.commands.build import build_task
from benchmarks import exactness
from tests.support.browser.chromium import chromium
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import ROOT, build_harness

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", autouse=True)
def _gallery() -> None:
    build_task(ROOT / "models" / "digits")
    build_task(ROOT / "models" / "text-lstm")


def test_engines_agree_and_relaxed_kernels_do_not() -> None:
    found = exactness.measure(["digits", "text-lstm"], [1, 10], ["chromium"])
    assert [one["groups"] for one in found["models"]] == [1, 1]
    engines = {row["engine"] for row in found["rows"]}
    assert engines == {"node", *(f"chromium, {n} threads" for n in exactness.THREADS)}
    assert all(row["finite"] for row in found["rows"])
    assert len({row["sha256"] for row in found["rows"]}) == 4
    assert all(one["relaxed_distance"] > 0.0 for one in found["models"])


def test_a_browser_without_simd_does_not_belong_to_the_class() -> None:
    with serve({"/harness/": build_harness()}) as origin, chromium() as browser:
        tab = browser.open(f"{origin}/harness/index.html")
        script = "options => window.chooseKernels(options, 'exact')"
        assert not tab.evaluate(script, {"simd": False})
        tab.close()
