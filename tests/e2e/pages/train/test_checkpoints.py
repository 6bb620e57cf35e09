"""A page that is closed in the middle of a work unit: the next one continues it from its checkpoint."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.async_api import Browser, Page, WebSocket, expect

from backend.wire.unit_messages import Beat, Unit, UnitsToServer
from backend.wire.units_codec import decode_to_units, decode_units
from tests.e2e.pages.train.digits_units import write_units
from tests.support.timeouts import HEAVY, PATIENCE, eventually
from tests.support.web.server_process import Server, running

pytestmark = pytest.mark.browser

# With such batches a unit takes minutes.
SMALL = ("--set", "digits.training.batch_size=1")
# The newest whole checkpoint's steps, 0 without one; `null` where a file was never made.
STEPS = """async () => {
  let steps = 0;
  try {
    const root = await navigator.storage.getDirectory();
    const units = await root.getDirectoryHandle("minga-units");
    const folder = await units.getDirectoryHandle("digits");
    for await (const handle of folder.values()) {
      const bytes = new Uint8Array(await (await handle.getFile()).arrayBuffer());
      if (bytes.length < 36) continue;
      const length = new DataView(bytes.buffer).getUint32(32, true);
      const header = JSON.parse(new TextDecoder().decode(bytes.subarray(36, 36 + length)));
      steps = Math.max(steps, header.steps);
    }
  } catch {}
  return steps;
}"""
STEP = re.compile(r"step ([\d\s]+) of")
# Damages every file, in its values.
TEAR = """async () => {
  const root = await navigator.storage.getDirectory();
  const units = await root.getDirectoryHandle("minga-units");
  const folder = await units.getDirectoryHandle("digits");
  for await (const handle of folder.values()) {
    const bytes = new Uint8Array(await (await handle.getFile()).arrayBuffer());
    const writable = await handle.createWritable();
    await writable.write(bytes.subarray(0, bytes.length - 1));
    await writable.close();
  }
}"""


class Talk:
    """What a page and its server say."""

    def __init__(self, page: Page) -> None:
        self.units: list[Unit] = []
        self.said: list[UnitsToServer] = []
        page.on("websocket", self._connected)

    def _connected(self, socket: WebSocket) -> None:
        def received(frame: bytes | str) -> None:
            if frame and isinstance(frame, bytes) and isinstance(message := decode_to_units(frame), Unit):
                self.units.append(message)

        def sent(frame: bytes | str) -> None:
            if frame and isinstance(frame, bytes):
                self.said.append(decode_units(frame))

        socket.on("framereceived", received)
        socket.on("framesent", sent)


@pytest.fixture
def server(models: Path, tmp_path: Path) -> Iterator[Server]:
    """Units that take minutes."""
    with ExitStack() as stack:
        write_units(models / "digits", tmp_path / "tasks" / "digits", replicas=1, passes=1000)
        yield stack.enter_context(running(tmp_path / "tasks", tmp_path / "data", *SMALL))


def gave_back(server: Server) -> bool:
    """Whether the server counts units that were given back."""
    with urlopen(f"{server.url}/metrics", timeout=PATIENCE) as answer:
        return 'minga_units_released_total{cause="stopping",task="digits"}' in answer.read().decode()


async def begin(page: Page, server: Server) -> int:
    """Takes part, and returns the first step that the page shows."""
    await page.goto(f"{server.url}/tasks/digits/train?backend=wasm")
    await page.locator("[data-action=start]").click()
    piece = page.locator("[data-piece=training]")
    await expect(piece).to_contain_text(STEP)
    found = STEP.search(await piece.inner_text())
    assert found is not None
    return int(re.sub(r"\D", "", found[1]))


async def checkpointed(page: Page, enough: Callable[[int], bool]) -> int:
    """Waits until the steps of the newest checkpoint are enough, and returns them."""
    async with asyncio.timeout(PATIENCE):
        while not enough(steps := int(await page.evaluate(STEPS))):
            await page.wait_for_timeout(500)
    return steps


@pytest.mark.long
@pytest.mark.timeout(HEAVY)
async def test_the_next_page_continues_the_unit_and_one_without_a_whole_checkpoint_begins_it_again(
    browser: Browser, server: Server
) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    talk = Talk(page)
    await begin(page, server)
    steps = await checkpointed(page, lambda steps: steps > 0)
    given = {unit.lease: unit for unit in talk.units}
    await page.goto("about:blank")
    await asyncio.to_thread(eventually, lambda: gave_back(server), "It was kept.")

    other = await context.new_page()
    talk = Talk(other)
    assert await begin(other, server) > steps
    # Of the units that the first page had it trained one, and the other page asks for that first.
    [lease] = [said.lease for said in talk.said if isinstance(said, Beat)]
    assert (talk.units[0].lease, talk.units[0].weights) == (lease, given[lease].weights)

    await other.evaluate(TEAR)
    await other.goto("about:blank")
    talk = Talk(other)
    assert await begin(other, server) < steps
    assert talk.units[0].lease == lease
    # Who stops leaves nothing on the device.
    await other.locator("[data-action=stop]").click()
    await checkpointed(other, lambda steps: steps == 0)
