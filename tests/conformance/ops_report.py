"""Every op on every backend: `python -m tests.conformance.ops_report` writes docs/reference/ops.md."""

from __future__ import annotations

import argparse
import sys
import time

from tests.conformance.ops.comparison import VARIANTS, Verdict, run
from tests.conformance.ops.expected import expected
from tests.conformance.ops.families import FAMILIES
from tests.support.browser.chromium import chromium
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import ROOT, build_harness

TABLE = ROOT / "docs" / "reference" / "ops.md"

HEAD = """# Ops

Written by `make conformance` from `tests/conformance/ops/`. Each case is one op with its inputs; TensorFlow
computes what is right, and every backend is held to it in Chromium (`tests/conformance/test_ops.py` repeats a
fixed part of the cases on every change). The figures are the largest |difference| / (1 + |right|) of an op's
cases. `wasm` has threads and SIMD, `wasm-simd` no threads, `wasm-plain` neither, `exact` no relaxed
instructions; WebGL and WebGPU ran on Chromium's software adapters. All figures stay below 2e-5, but for
functions of angles on GPUs, which promise 2^-11 there, and long sums (products of matrices, gradients of
filters and biases), which may differ by 1e-4: the last digits depend on the order of adding up, in TensorFlow
itself on the processor.

"""


def markdown(verdicts: list[Verdict], backends: list[str]) -> str:
    """The page of the documentation."""
    worst: dict[tuple[str, str], float] = {}
    count: dict[str, int] = {}
    for verdict in verdicts:
        place = verdict.op, verdict.backend
        worst[place] = max(worst.get(place, 0.0), verdict.error)
        count[verdict.op] = count.get(verdict.op, 0) + (verdict.backend == backends[0])
    lines = [f"| op | cases | {' | '.join(backends)} |", "|---" * (len(backends) + 2) + "|"]
    for op in sorted(count):
        cells = [_cell(worst[op, backend]) for backend in backends]
        lines.append(f"| {op} | {count[op]} | {' | '.join(cells)} |")
    return HEAD + "\n".join(lines) + f"\n\n{sum(count.values())} cases of {len(count)} ops.\n"


def _cell(error: float) -> str:
    return "0" if error == 0 else f"{error:.0e}"


def measure(families: list[str], backends: list[str], op: str | None, seconds: float) -> list[Verdict]:
    """Verdicts on all cases; progress goes to standard error."""
    verdicts: list[Verdict] = []
    made = expected(families)
    with serve({"/harness/": build_harness()}) as origin, chromium() as browser:
        for backend in backends:
            tab = browser.open(f"{origin}/harness/index.html")
            for family in families:
                cases = [case for case in made[family] if op in (None, case["op"])]
                start = time.monotonic()
                verdicts += run(tab, backend, cases, seconds=seconds)
                took = time.monotonic() - start
                print(f"{backend} {family}: {len(cases)} cases in {took:.0f} s", file=sys.stderr)
            tab.close()
    return verdicts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", choices=FAMILIES, action="append")
    parser.add_argument("--backend", choices=VARIANTS, action="append")
    parser.add_argument("--op", help="only the cases of this op")
    parser.add_argument("--seconds", type=float, default=900, help="how long a family may take")
    arguments = parser.parse_args()
    backends = arguments.backend or list(VARIANTS)
    verdicts = measure(arguments.family or list(FAMILIES), backends, arguments.op, arguments.seconds)
    wrong = [verdict for verdict in verdicts if verdict.fault is not None]
    for verdict in wrong:
        print(f"{verdict.backend}: {verdict.label}: {verdict.fault}")
    print(f"{len(verdicts) - len(wrong)} of {len(verdicts)} cases are right.")
    if not (arguments.family or arguments.backend or arguments.op):
        TABLE.write_text(markdown(verdicts, backends), "utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
