"""A page whose worker lies about what it computed."""

from __future__ import annotations

_SCRIPT = """
const Honest = Worker;
let results = 0;
window.Worker = class extends Honest {
  constructor(...given) {
    super(...given);
    super.addEventListener("message", ({ data }) => {
      if (data.type !== "trained") return;
      results += 1;
      LIE
    });
  }
};
"""


def lying_worker(lie: str) -> str:
    """Returns a script for the page; `lie` may change `data.update`, that of result number `results`."""
    return _SCRIPT.replace("LIE", lie)
