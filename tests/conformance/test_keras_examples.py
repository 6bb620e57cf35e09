"""Keras' own example models, made and converted as docs/how-to/keras-examples.md says, train in a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.conformance.keras_examples import NAMES, STEPS, built_examples, examples
from tests.support.browser.chromium import Chromium, Tab
from tests.support.browser.static_site import serve
from tests.support.keras.comparison import metric_error, metric_values, relative_error
from tests.support.keras.reference_cache import build_harness

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]
LIMIT = 1e-4


@pytest.fixture(scope="module")
def built() -> Path:
    return built_examples()


@pytest.fixture(scope="module")
def site(built: Path) -> Iterator[str]:
    with serve({"/harness/": build_harness(), "/examples/": built}) as address:
        yield address


@pytest.fixture
def tab(harness: Chromium, site: str) -> Iterator[Tab]:
    """A page of its own, since an example may need most of a worker's memory."""
    opened = harness.open(f"{site}/harness/index.html")
    yield opened
    opened.close()


def test_the_page_has_every_example() -> None:
    assert tuple(example.name for example in examples()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_example_trains_with_webassembly_as_with_keras(
    name: str, tab: Tab, site: str, built: Path
) -> None:
    check(name, "wasm", tab, site, built)


@pytest.mark.parametrize("name", ["mnist"])
def test_an_example_trains_with_webgl_as_with_keras(name: str, tab: Tab, site: str, built: Path) -> None:
    check(name, "webgl", tab, site, built)


def check(name: str, backend: str, tab: Tab, site: str, built: Path) -> None:
    """Loss and metrics of two steps; those of the second come from the weights after the first."""
    bundle = built / name / name
    answer = tab.call("reports", {"base": f"{site}/examples/{name}/{name}", "backend": backend}, 800)
    expected = json.loads((bundle / "reference" / "expected.json").read_text("utf-8"))
    manifest = json.loads((bundle / "bundle.json").read_text("utf-8"))
    reports = answer["reports"]
    pairs = [{"metrics": np.reshape(report[1:], (-1, 2))} for report in reports]
    assert len(reports) == STEPS
    assert relative_error([report[0] for report in reports], expected["losses"]) <= LIMIT
    assert metric_error([metric_values(manifest, pair) for pair in pairs], expected["metrics"]) <= LIMIT
