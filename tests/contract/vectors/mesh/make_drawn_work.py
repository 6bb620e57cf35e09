"""Writes drawn_work.json, what coins draw: `python -m tests.contract.vectors.mesh.make_drawn_work`."""

from __future__ import annotations

import json
from typing import Any

from backend.protocols.mesh.byzantine.drawn_work import coin_seed, drawn_number, drawn_order, validations
from tests.contract.vectors import write

CLIENTS = [f"{number:016x}" for number in (*range(9), 0xFF, 2**64 - 1)]
COINS = [bytes(32), bytes([255] * 32), bytes(range(32))]
LIMITS = (1, 10, 2**31)


def drawn(coin: bytes) -> dict[str, Any]:
    """Returns all that one coin draws."""
    return {
        "coin": coin.hex(),
        "numbers": [
            {"client": client, "limit": limit, "number": drawn_number(coin, "shard", client, limit)}
            for client in CLIENTS[:4]
            for limit in LIMITS
        ],
        "order": drawn_order(coin, "seen", CLIENTS),
        "validations": [
            {
                "count": count,
                "unable": unable,
                "targets": validations(coin, CLIENTS, CLIENTS[3:], count, unable),
            }
            for count in (0, 1, 3, 20)
            for unable in ([], CLIENTS[:6])
        ],
        "seed": coin_seed(coin),
    }


def files() -> dict[str, str]:
    """The golden file and its content."""
    golden = {"clients": CLIENTS, "draws": [drawn(coin) for coin in COINS]}
    return {"drawn_work.json": json.dumps(golden, indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
