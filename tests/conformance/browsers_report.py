"""What works in which browser: `python -m tests.conformance.browsers_report` writes the reference."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conformance.browsers.abilities import ABILITIES, abilities
from tests.conformance.browsers.trainings import TRAININGS, train, visit_page, write_text
from tests.support.browser.training_visit import STEPS
from tests.support.browser.webkit import WebKit
from tests.support.exact.engines import BROWSERS
from tests.support.keras.reference_cache import ROOT

MODELS = ROOT / "models"
TABLE = ROOT / "docs" / "reference" / "browsers.md"

NAMES = {"chromium": "Chromium", "firefox": "Firefox", "webkit": "WebKitGTK"}
# What names the version: the browser's user agent, or what WebKitGTK tells its driver.
VERSIONS = {"chromium": r"Chrome/(\d+)", "firefox": r"Firefox/(\d+)", "webkit": r"(.+)"}

HEAD = """# Browsers

Written by `make conformance`, which opens the real pages of a server in each browser. Pages train in all
three engines. WebKitGTK has the engine of Safari.

"""

NOTES = """
The browsers ran without a graphics card and without a display, so the table shows less than most devices
have:

- **WebGL and WebGPU.** Chromium had a software adapter for both. Firefox has WebGL in a worker if the
  computer has a graphics card. A page measures each backend that starts and takes the fastest. If none of
  them is a graphics processor, it computes with WebAssembly. The page shows its choice under "Computes with".
- **Hidden pages.** Headless Chromium has no tab that is not seen.
- **WebRTC.** Debian builds WebKitGTK without it; Safari has it. Without WebRTC, the members of a mesh reach
  the page through the server.
- **Shared memory.** WebKitGTK was started with `JSC_useSharedArrayBuffer=1`. Without shared memory a page
  computes on one core.

Phones and consoles have these engines, too, but our tests do not run on them.
"""


@dataclass(frozen=True)
class Column:
    """A browser: its version, its abilities, its page after each training, and what else was done in it."""

    version: str
    abilities: Mapping[str, bool]
    trainings: Mapping[str, Mapping[str, Any]]
    # The steps of a visit that were done.
    visit: Sequence[str]
    # What the page of a text model wrote.
    text: str


def measure(name: str) -> Column:
    """Looks at one browser. Raises TimeoutError if a training does not work in it."""
    with BROWSERS[name]() as browser, tempfile.TemporaryDirectory(prefix="minga-browsers-") as folder:
        agent, found = abilities(browser)
        told = re.search(VERSIONS[name], browser.version if isinstance(browser, WebKit) else agent)
        if told is None:
            raise ValueError(f"This browser does not tell its version: {agent}")
        trained = {}
        for kind in TRAININGS:
            print(f"{NAMES[name]}: {kind}", file=sys.stderr)
            (Path(folder) / kind).mkdir()
            trained[kind] = train(browser, kind, MODELS, Path(folder) / kind)
        (Path(folder) / "visit").mkdir()
        visited = visit_page(browser, MODELS, Path(folder) / "visit")
        return Column(told[1], found, trained, visited, write_text(browser, MODELS, Path(folder) / "text"))


def markdown(columns: Mapping[str, Column]) -> str:
    """The page of the documentation."""
    heads = [f"{NAMES[name]} {column.version}" for name, column in columns.items()]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (len(columns) + 1) + "|"]
    for kind, training in TRAININGS.items():
        lines.append(_row(training.title, [_trained(column.trainings[kind]) for column in columns.values()]))
    for step, title in STEPS.items():
        cells = ["yes" if step in column.visit else "not tested" for column in columns.values()]
        lines.append(_row(title, cells))
    lines.append(_row("Try the model", ["yes" if column.text else "no" for column in columns.values()]))
    for ability, title in ABILITIES.items():
        lines.append(
            _row(title, ["yes" if column.abilities[ability] else "no" for column in columns.values()])
        )
    return HEAD + "\n".join(lines) + "\n" + NOTES


def _row(title: str, cells: list[str]) -> str:
    return f"| {title} | {' | '.join(cells)} |"


def _trained(state: Mapping[str, Any]) -> str:
    ways = {"webrtc": "WebRTC", "relay": "the server", "websocket": "WebSocket"}
    through = " and ".join(ways.get(way, way) for way in state["ways"])
    return f"trains with {state['backend']}" + (f", reaches members through {through}" if through else "")


def main() -> None:
    """Measures all browsers and writes the page."""
    TABLE.write_text(markdown({name: measure(name) for name in BROWSERS}), "utf-8")
    print(f"{TABLE.relative_to(ROOT)} is written.")


if __name__ == "__main__":
    main()
