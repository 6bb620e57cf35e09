"""Models with several objectives, and without labels, train in browsers as in the native graphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.models_report import compare
from tests.support.browser.chromium import Chromium
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import build_harness, run_module

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]
# One case on one backend is trained in the daily lane: two optimizers, dropout, state and padding.
MODELS = [
    ("wasm", "adversarial"),
    pytest.param("wasm", "autoencoder", marks=pytest.mark.long),
    pytest.param("wasm", "triplets", marks=pytest.mark.long),
    pytest.param("webgl", "adversarial", marks=pytest.mark.long),
    pytest.param("webgl", "triplets", marks=pytest.mark.long),
]


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundles of those cases that this run tests."""
    made = tmp_path_factory.mktemp("joint")
    items = [item for item in request.session.items if item.path == request.path]
    names = {str(item.callspec.params["name"]) for item in items if isinstance(item, pytest.Function)}
    run_module("tests.support.keras.joint_bundles", str(made), *sorted(names))
    return made


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    with serve({"/harness/": build_harness(), "/bundles/": folder}) as address:
        yield address


@pytest.mark.parametrize(("backend", "name"), MODELS)
def test_ten_steps_equal_the_native_ones(
    backend: str, name: str, folder: Path, site: str, harness: Chromium
) -> None:
    tab = harness.open(f"{site}/harness/index.html")
    result = tab.call("conformance", {"base": f"{site}/bundles/{name}", "backend": backend}, 600)
    tab.close()
    row = compare(result, folder / name, backend)
    assert row.within, row
