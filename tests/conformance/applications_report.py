"""Every family of keras.applications against Keras: `python -m tests.conformance.applications_report`.

Without arguments it writes docs/reference/applications.md; names of families choose some, and then it only
prints. Exit code 1 if a family differs from Keras, or is refused without its place in REFUSED.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.conformance.models_page import LIMIT
from tests.conformance.models_report import measure
from tests.support.browser.chromium import chromium
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import ROOT, build_harness, run_module

TABLE = ROOT / "docs" / "reference" / "applications.md"
FAMILIES = (
    "convnexttiny", "densenet121", "efficientnetb0", "efficientnetv2b0", "inceptionresnetv2", "inceptionv3",
    "mobilenet", "mobilenetv2", "mobilenetv3small", "nasnetmobile", "resnet50", "resnet50v2", "vgg16",
    "xception",
)  # fmt: skip
# A family that must be refused, and what the sentence says.
REFUSED = {"inceptionresnetv2": "parameters; at most 50000000 are allowed"}
# The harness hands gradients and vectors over as JSON.
BROWSER_PARAMETERS = 1_500_000
# Above it a gradient's own rounding would hide mistakes.
MOST_ROUNDING = 0.2

HEAD = """# Families of keras.applications

Written by `make conformance`. Each family is built without weights, with ten classes, in its smallest variant
and for the smallest images that it takes (`tests/support/keras/zoo/applications.py`), saved by Keras and
converted. Then a batch of eight with three padded rows and uneven weights is trained on from the same weights
as by Keras itself, with momentum. `step` is the worst relative L2 error of loss, accuracy and the flat vector
after the step, `gradient` that of the gradient; `wasm` is the worst of both in Chromium, for families of at
most {browser:,} parameters. `seconds` are those of the conversion on two cores.

The limit is 1e-4. Gradients of deep networks of relu and batch normalization jump: on images this small
Keras' own gradient changes by `rounding` where its weights change in the seventh digit. What Keras' own loss,
gradient or vector changes by, a bundle's may differ by twice.

"""


def measured(name: str, folder: Path) -> dict[str, Any]:
    """The result of a family, whose bundle and reference are in `folder` after it."""
    output = run_module("tests.support.keras.application_steps", str(folder), name)
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


def add_browser(results: Iterable[dict[str, Any]], folder: Path) -> None:
    """Adds the errors in WebAssembly, as `wasm`, to the results of families that are small enough."""
    small = [r for r in results if r.get("parameters", math.inf) <= BROWSER_PARAMETERS]
    if not small:
        return
    with serve({"/harness/": build_harness(), "/bundles/": folder}) as origin, chromium() as browser:
        tab = browser.open(f"{origin}/harness/index.html")
        for result in small:
            row = measure(tab, origin, folder / result["name"], "wasm")
            errors = {"loss": row.loss, "metrics": row.metrics, "vector": row.vector}
            result["wasm"] = errors | {"gradient": row.gradient}


def faults(result: Mapping[str, Any]) -> list[str]:
    """What is wrong with the result of a family; nothing where it equals Keras, or is refused rightly."""
    name = result["name"]
    if (sentence := result.get("refused")) is not None:
        return [] if name in REFUSED and REFUSED[name] in sentence else [f"{name} is refused: {sentence}"]
    wrong = [f"{name} is no longer refused"] if name in REFUSED else []
    rounding = result["rounding"]
    if not result["norm"] > 0.0 or not rounding["gradient"] <= MOST_ROUNDING:
        wrong.append(f"{name} has a gradient that says nothing")
    for place in ("native", *(["wasm"] if "wasm" in result else [])):
        for word, error in result[place].items():
            if not error <= max(LIMIT, 2.0 * rounding.get(word, 0.0)):
                wrong.append(f"The {word} of {name} differs from Keras' by {error:.1e} ({place}).")
    return wrong


def _step(errors: Mapping[str, float]) -> float:
    return max(errors["loss"], errors["metrics"], errors["vector"])


def markdown(results: list[dict[str, Any]]) -> str:
    """The page of the documentation."""
    columns = ["family", "parameters", "step", "gradient", "rounding", "wasm", "seconds"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    lines += [_line(result) for result in results if "refused" not in result]
    refused = [f"- {r['variant']}: {r['refused']}" for r in results if "refused" in r]
    text = HEAD.format(browser=BROWSER_PARAMETERS) + "\n".join(lines) + "\n"
    return text + ("\n## Refused\n\n" + "\n".join(refused) + "\n" if refused else "")


def _line(result: Mapping[str, Any]) -> str:
    wasm, native = result.get("wasm"), result["native"]
    in_browser = "" if wasm is None else f"{max(wasm.values()):.0e}"
    errors = (_step(native), native["gradient"], result["rounding"]["gradient"])
    figures = [f"{number:.0e}" for number in errors]
    cells = [result["variant"], f"{result['parameters']:,}", *figures, in_browser, f"{result['seconds']:.0f}"]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="The families of keras.applications against Keras.")
    parser.add_argument("names", nargs="*", help="families; all if none is named")
    names = parser.parse_args().names or FAMILIES
    with tempfile.TemporaryDirectory() as temporary:
        results = []
        for name in names:
            results.append(measured(name, Path(temporary)))
            print(json.dumps(results[-1]), flush=True)
        add_browser(results, Path(temporary))
    if names is FAMILIES:
        TABLE.write_text(markdown(results), "utf-8")
    wrong = [sentence for result in results for sentence in faults(result)]
    print("\n".join(wrong) or "All families equal Keras, or are refused as they must be.")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
