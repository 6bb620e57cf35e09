"""A failed test with pages leaves what they showed and said, and nothing of a test reaches the next one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.support.plugins.evidence import FAILURES, ROOT
from tests.support.plugins.page_evidence import summary
from tests.support.timeouts import HEAVY

pytestmark = pytest.mark.browser

NAME = "test_page_evidence_inner"
SOURCE = """
import asyncio

import msgspec
import pytest
from websockets.asyncio.server import serve

from tests.support.browser.chromium import chromium
from tests.support.plugins.page_evidence import watch

async def answer(socket):
    await socket.recv()
    await socket.send(msgspec.msgpack.encode({"type": "selected", "round": 7, "weights": bytes(5000)}))
    await socket.wait_closed()

SCRIPT = '''url => new Promise((resolve) => {
  document.body.textContent = "about to fail";
  console.warn("the page warns");
  setTimeout(() => { throw new Error("the page throws"); });
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => socket.send(new Uint8Array([0x81, 0xa4, 0x74, 0x79, 0x70, 0x65, 0xa5, ...[...
    "hello"].map((letter) => letter.charCodeAt(0))]));
  socket.onmessage = resolve;
})'''

async def test_fails(browser):
    page = await browser.new_page()
    async with serve(answer, "127.0.0.1", 0) as server:
        await page.evaluate(SCRIPT, f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        assert False, "on purpose"

seen = []

async def test_has_a_browser_again(browser):
    seen.append(browser)
    assert await (await browser.new_page()).evaluate("1 + 1") == 2

async def test_has_the_same_browser_without_its_pages(browser):
    assert seen == [browser]
    assert browser.contexts == []

async def test_leaves_a_task(browser):
    asyncio.create_task(asyncio.sleep(1000), name="forgotten")

@pytest.fixture(scope="session")
def harness():
    with chromium() as running:
        watch(running.browser, lambda work: running.wait(work, 60))
        yield running

def test_fails_without_a_loop(harness):
    tab = harness.open("about:blank")
    tab.evaluate("console.log('the harness says')")
    assert False, "on purpose"
"""
SETTINGS = "[pytest]\nasyncio_mode = auto\nfilterwarnings = error\n"
PLUGINS = ("evidence", "page_evidence", "shared_browser")


def kept(test: str) -> Path:
    return FAILURES / f"{NAME}.py-{test}"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What a run of the tests above prints."""
    folder = tmp_path_factory.mktemp("inner")
    (folder / f"{NAME}.py").write_text(SOURCE, "utf-8")
    (folder / "pytest.ini").write_text(SETTINGS, "utf-8")
    plugins = [word for plugin in PLUGINS for word in ("-p", f"tests.support.plugins.{plugin}")]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugins, "--rootdir", str(folder)]
    command += ["-c", str(folder / "pytest.ini"), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    yield done.stdout + done.stderr
    for left in FAILURES.glob(f"{NAME}.py-*"):
        shutil.rmtree(left)


@pytest.mark.long
@pytest.mark.timeout(HEAVY)
def test_a_failed_test_leaves_picture_console_errors_and_frames_of_its_pages(told: str) -> None:
    assert f"kept in {kept('test_fails').relative_to(ROOT)}/" in told
    assert (kept("test_fails") / "page-1.png").read_bytes().startswith(b"\x89PNG")
    text = (kept("test_fails") / "page-1.txt").read_text("utf-8")
    for said in ("URL: about:blank", "console warning: the page warns", "uncaught: Error: the page throws"):
        assert said in text
    assert "sent           12 hello" in text
    assert "selected round=7 weights=<5000 bytes>" in text


def test_pages_of_the_harness_leave_theirs_too(told: str) -> None:
    folder = kept("test_fails_without_a_loop")
    assert (folder / "page-1.png").exists()
    assert "console log: the harness says" in (folder / "page-1.txt").read_text("utf-8")


def test_after_a_failure_the_next_test_has_a_browser_and_no_pages(told: str) -> None:
    assert "2 failed, 3 passed, 1 error" in told


def test_a_task_that_a_test_leaves_running_is_an_error_of_that_test(told: str) -> None:
    assert "ERROR at teardown of test_leaves_a_task" in told
    assert "name='forgotten'" in told
    assert not kept("test_has_a_browser_again").exists()


def test_a_frame_is_told_by_type_and_fields() -> None:
    assert summary("a text") == "'a text'"
    assert summary(b"\xc1") == "no msgpack"
    assert summary(msgspec.msgpack.encode([1, 2])) == "[1, 2]"
    told = summary(msgspec.msgpack.encode({"type": "report", "sums": list(range(100)), "text": "a" * 100}))
    assert told.startswith("report sums=<100 values> text='aaa")
    assert told.endswith("a...")
