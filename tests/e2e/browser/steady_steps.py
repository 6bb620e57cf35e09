"""Steps without growth: `python -m tests.e2e.browser.steady_steps [--steps N]` prints what is held before and
after."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass

from tests.support.browser.chromium import Tab, chromium
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import build_harness, references

# Until then shaders are compiled, pools filled, and the JavaScript engine has optimized what it will. It does
# so once more after about 3000 steps that repeat a recording, which takes 135 KB of the heap once.
WARM_UP = 5000
STEPS = 1000
BACKENDS = ("wasm", "webgl", "webgpu")


@dataclass(frozen=True)
class Held:
    """What a training worker holds after `steps` steps; bytes of the device and of JavaScript objects."""

    steps: int
    tensors: int
    bytes: int
    heap: int
    reads: int


def measure(
    tab: Tab, origin: str, model: str, backend: str, steps: int = STEPS, warm_up: int = WARM_UP
) -> tuple[Held, Held]:
    """What is held before and after `steps` steps of a page that has warmed up."""
    wanted = {"base": f"{origin}/bundles/{model}", "backend": backend}

    def go_on(count: int) -> Held:
        answer = tab.call("steady", {**wanted, "steps": count}, 60 + count)
        return Held(**answer, heap=tab.worker_heap())

    return go_on(warm_up), go_on(steps)


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains on and on, and says what is held.")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--model", default="mlp")
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=BACKENDS)
    options = parser.parse_args()
    with (
        serve({"/harness/": build_harness(), "/bundles/": references(options.model)}) as origin,
        chromium() as browser,
    ):
        for backend in options.backends:
            tab = browser.open(f"{origin}/harness/index.html")
            for held in measure(tab, origin, options.model, backend, options.steps):
                print(json.dumps({"model": options.model, "backend": backend, **asdict(held)}), flush=True)
            tab.close()


if __name__ == "__main__":
    main()
