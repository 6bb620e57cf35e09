"""Reads very many bad inputs: `python -m tests.property.fuzzing [--inputs N] [--decoders NAME...] [--json]`.

Inputs are those of `seed`, `seed` + 1, ... in portions; a fault ends the run with the input that showed it.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

from tests.property.fuzzing.decoders import decoders, try_inputs

PORTION = 10_000


def main() -> None:
    """Prints a line for each decoder."""
    known = decoders()
    parser = argparse.ArgumentParser(description="Feeds the decoders with mutated and random input.")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="for each decoder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--decoders", nargs="+", choices=sorted(known), default=sorted(known))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for name in options.decoders:
        before, began, good = _peak_mib(), time.process_time(), 0
        for start in range(0, options.inputs, PORTION):
            good += try_inputs(known[name], options.seed + start, min(PORTION, options.inputs - start))
        seconds = time.process_time() - began
        row = {"decoder": name, "inputs": options.inputs, "read": good, "refused": options.inputs - good}
        rows.append(
            row | {"cpu_seconds": round(seconds, 1), "peak_growth_mib": round(_peak_mib() - before, 1)}
        )
        if not options.json:
            print(", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    if options.json:
        print(json.dumps({"rows": rows}, indent=1))


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
