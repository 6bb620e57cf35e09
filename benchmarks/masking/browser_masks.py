"""Measures the cost of a masked round for a client in Chromium, beside the keystreams alone.

Usage: python -m benchmarks.masking.browser_masks [--clients N...] [--parameters P] [--bits B] [--turns T]
[--json]

One client among N computes real keys, shares and masks in a page's worker. The other clients are in the same
worker for the key exchange and are not timed. Browsers do not report processor time, so the results are wall
seconds of the best turn. WebCrypto encrypts on its own threads, so with spare cores the masks can take less
time than the keystreams in sequence.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from tests.support.browser.chromium import chromium
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import build_harness

CLIENTS = (8, 32, 100)
PARAMETERS = 1_000_000
TURNS = 5


def measure(clients: list[int], parameters: int, bits: int, turns: int) -> list[dict[str, Any]]:
    """Returns one row for each number of clients."""
    rows = []
    with serve({"/harness/": build_harness()}) as origin, chromium() as browser:
        tab = browser.open(f"{origin}/harness/index.html")
        for count in clients:
            options = {"clients": count, "parameters": parameters, "bits": bits, "turns": turns}
            times = tab.call("maskingTimes", options, 500)
            rows.append(_row(count, parameters, bits, times))
            print(f"{count} clients: {rows[-1]['client_seconds']} s", file=sys.stderr, flush=True)
    return rows


def _row(clients: int, parameters: int, bits: int, times: dict[str, float]) -> dict[str, Any]:
    total = times["exchange"] + times["expand"] + times["mask"]
    return {
        "clients": clients,
        "neighbours": times["neighbours"],
        "parameters": parameters,
        "bits": bits,
        "client_seconds": round(total, 4),
        "exchange_seconds": round(times["exchange"], 4),
        "expand_seconds": round(times["expand"], 4),
        "mask_seconds": round(times["mask"], 4),
        "keystream_seconds": round(times["keystream"], 4),
    }


def print_table(rows: list[dict[str, Any]]) -> None:
    print(f"{'clients':>7} {'whole':>9} {'exchange':>9} {'expand':>9} {'mask':>9} {'keystream':>9}")
    for row in rows:
        parts = ("client", "exchange", "expand", "mask", "keystream")
        cells = " ".join(f"{1000 * row[f'{part}_seconds']:>6.0f} ms" for part in parts)
        print(f"{row['clients']:>7} {cells}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Times a client's part in a masked round in Chromium.")
    parser.add_argument("--clients", type=int, nargs="+", default=list(CLIENTS))
    parser.add_argument("--parameters", type=int, default=PARAMETERS)
    parser.add_argument("--bits", type=int, default=32)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    options = parser.parse_args()
    rows = measure(options.clients, options.parameters, options.bits, options.turns)
    if options.json:
        print(json.dumps({"rows": rows}, indent=1))
    else:
        print_table(rows)


if __name__ == "__main__":
    main()
