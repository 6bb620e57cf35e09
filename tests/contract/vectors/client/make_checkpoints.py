"""Writes checkpoints.json: `python -m tests.contract.vectors.client.make_checkpoints`."""

from __future__ import annotations

import json

from backend.protocols.replay.checkpoints import checkpoint_steps
from tests.contract.vectors import write

STEPS = (1, 2, 7, 15, 16, 17, 31, 32, 33, 100, 512, 100_003)


def files() -> dict[str, str]:
    """The content of each file."""
    cases = [{"steps": steps, "checkpoints": checkpoint_steps(steps)} for steps in STEPS]
    return {"checkpoints.json": json.dumps(cases, indent=2) + "\n"}


if __name__ == "__main__":
    write(files())
