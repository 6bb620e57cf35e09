"""Every model of the zoo on every backend against Keras: `python -m tests.conformance.models_report`.

Without arguments it writes docs/reference/models.md and .cache/models.json; `--backend wasm` and names of
cases choose some, and then it only prints. Exit code 1 if an error is above its limit.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.conformance.models_page import LIMIT, TABLE, markdown
from tests.support.browser.chromium import Chromium, Tab, chromium
from tests.support.browser.static_site import serve
from tests.support.keras.comparison import metric_error, metric_values, relative_error
from tests.support.keras.reference_cache import CACHE, build_harness, case_names, native_results, references

BACKENDS = ("wasm", "webgl", "webgpu", "cpu")


@dataclass(frozen=True)
class Row:
    """Relative L2 errors of one case on one backend, their limit, and seconds; `fault` if it did not run."""

    model: str
    backend: str
    loss: float = float("nan")
    metrics: float = float("nan")
    gradient: float = float("nan")
    vector: float = float("nan")
    limit: float = LIMIT
    seconds: float = 0.0
    fault: str = ""

    @property
    def worst(self) -> float:
        """The largest error; NaN if any is NaN."""
        errors = (self.loss, self.metrics, self.gradient, self.vector)
        return float(np.max(errors))

    @property
    def within(self) -> bool:
        return self.worst <= self.limit


def case_table(folder: Path) -> dict[str, Any]:
    """What reference.py wrote about the case in `folder`."""
    table: dict[str, Any] = json.loads((folder / "reference" / "case.json").read_text("utf-8"))
    return table


def compare(result: dict[str, Any], folder: Path, backend: str, seconds: float = 0.0) -> Row:
    """Errors of `result` (reports, gradient, vector) against the reference of the case in `folder`.

    A report is a step's loss, then numerators and denominators of the metrics.
    """
    reference = folder / "reference"
    manifest = json.loads((folder / "bundle.json").read_text("utf-8"))
    expected = json.loads((reference / "expected.json").read_text("utf-8"))
    reports = result["reports"]
    pairs = [np.reshape(report[1:], (-1, 2)) for report in reports]
    metrics = [metric_values(manifest, {"metrics": pair}) for pair in pairs]
    allowance = case_table(folder)["allowance"]
    return Row(
        folder.name,
        backend,
        loss=relative_error([report[0] for report in reports], expected["losses"]),
        metrics=metric_error(metrics, expected["metrics"]),
        gradient=relative_error(result["gradient"], np.fromfile(reference / "gradient.bin", "<f4")),
        vector=relative_error(result["vector"], np.fromfile(reference / "vector.bin", "<f4")),
        limit=allowance["limit"] if allowance else LIMIT,
        seconds=round(seconds, 2),
    )


def measure(tab: Tab, origin: str, folder: Path, backend: str) -> Row:
    """Trains one case in the harness and compares it."""
    begin = time.monotonic()
    result = tab.call("conformance", {"base": f"{origin}/bundles/{folder.name}", "backend": backend}, 600)
    return compare(result, folder, backend, time.monotonic() - begin)


def measure_all(browser: Chromium, origin: str, folders: list[Path], backends: list[str]) -> Iterator[Row]:
    """A row for each case and backend; a case that fails gets a new page after it."""
    for backend in backends:
        tab = browser.open(f"{origin}/harness/index.html")
        for folder in folders:
            try:
                yield measure(tab, origin, folder, backend)
            except Exception as error:
                yield Row(folder.name, backend, fault=" ".join(str(error).split())[:400])
                tab.close()
                tab = browser.open(f"{origin}/harness/index.html")
        tab.close()


def main() -> int:
    parser = argparse.ArgumentParser(description="The zoo's models on every backend against Keras.")
    parser.add_argument("names", nargs="*", help="cases; all if none is named")
    parser.add_argument("--backend", action="append", choices=("native", *BACKENDS))
    args = parser.parse_args()
    folder, harness = references(*args.names), build_harness()
    folders = [folder / name for name in args.names or case_names()]
    backends = list(args.backend or ("native", *BACKENDS))
    rows = []
    if "native" in backends:
        native = json.loads(native_results(folders))
        rows = [tell(compare(native[f.name], f, "native")) for f in folders]
        backends.remove("native")
    with serve({"/harness/": harness, "/bundles/": folder}) as origin, chromium() as browser:
        rows += [tell(row) for row in measure_all(browser, origin, folders, backends)]
    if not args.names and not args.backend:
        cases = {path.name: case_table(path) for path in folders}
        worst = {(row.model, row.backend): row.worst for row in rows}
        TABLE.write_text(markdown(cases, ("native", *BACKENDS), worst), "utf-8")
        (CACHE / "models.json").write_text(
            json.dumps([asdict(row) for row in rows], indent=1) + "\n", "utf-8"
        )
    return 0 if all(row.within for row in rows) else 1


def tell(row: Row) -> Row:
    """Print a row as it comes."""
    print(
        f"{row.model} {row.backend} {row.worst:.1e} {'' if row.within else 'ABOVE ITS LIMIT '}{row.fault}",
        flush=True,
    )
    return row


if __name__ == "__main__":
    raise SystemExit(main())
