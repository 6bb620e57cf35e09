"""A witness in a page: what its training worker made, before any of it is masked."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from playwright.async_api import Page

from tests.support.exact.engines import BrowserTab
from tests.support.peer.update_witness import Plain

# Hears what the page hears of its worker, and copies the update before the page gives it away.
_SCRIPT = """
window.witnessed = [];
window.Worker = class extends Worker {
  #asked = new Map();

  constructor(...words) {
    super(...words);
    this.addEventListener("message", ({ data }) => {
      if (data?.type !== "trained") return;
      const { update, examples, loss } = data;
      const bytes = Array.from(new Uint8Array(update), (byte) => String.fromCharCode(byte)).join("");
      window.witnessed.push({ weights: this.#asked.get(data.id), examples, loss, update: btoa(bytes) });
    });
  }

  postMessage(message, ...rest) {
    if (message?.type === "train") this.#asked.set(message.id, message.weights);
    super.postMessage(message, ...rest);
  }
};
"""


async def watch(page: Page) -> None:
    """Has all that the page trains written down in it, from its next address on."""
    await page.add_init_script(_SCRIPT)


def watch_tab(tab: BrowserTab) -> None:
    """Has all that the tab trains from now on written down in it."""
    tab.evaluate(f"() => {{ {_SCRIPT} }}")


async def witnessed(page: Page) -> list[Plain]:
    """What was written down."""
    return _read(await page.evaluate("witnessed"))


def witnessed_in_tab(tab: BrowserTab) -> list[Plain]:
    """What was written down in a tab."""
    return _read(tab.evaluate("() => window.witnessed"))


def _read(found: list[dict[str, Any]]) -> list[Plain]:
    return [
        Plain(
            one["weights"],
            one["examples"],
            one["loss"],
            np.frombuffer(base64.b64decode(one["update"]), "<f4"),
        )
        for one in found
    ]
