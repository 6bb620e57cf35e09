"""WebKitGTK's MiniBrowser for tests, on a display of its own, driven by WebDriver."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from tests.support.browser.webdriver_script import script_body, script_value
from tests.support.environment.preflight import mini_browser
from tests.support.plugins.requirements import require
from tests.support.timeouts import LONG, PATIENCE, eventually

_IS_LOADED = "address => location.href === address && document.readyState === 'complete'"


class WebKitTab:
    """The browser's window at one address."""

    def __init__(self, webkit: WebKit) -> None:
        self._webkit = webkit

    def evaluate(self, script: str, argument: object = None, seconds: float = LONG) -> Any:
        """Runs a function of one argument in the page. Raises RuntimeError with what it threw."""
        self._webkit.ask("POST", "/timeouts", {"script": round(1000 * seconds)})
        wanted = {"script": script_body(script), "args": [json.dumps(argument)]}
        return script_value(self._webkit.ask("POST", "/execute/async", wanted, seconds))

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Minimizes the window as long as the block runs."""
        size = self._webkit.ask("GET", "/window/rect")
        self._webkit.ask("POST", "/window/minimize", {})
        yield
        self._webkit.ask("POST", "/window/rect", size)

    def go(self, address: str) -> None:
        """Opens another address in the tab."""
        self._webkit.ask("POST", "/url", {"url": address})

    def back(self) -> None:
        """Returns to the page that was left."""
        self._webkit.ask("POST", "/back", {})

    def close(self) -> None:
        """Leaves the page, which ends its workers."""
        self._webkit.ask("POST", "/url", {"url": "about:blank"})


class WebKit:
    """Owns the display, the driver and the browser's session."""

    def __init__(self, home: Path) -> None:
        require("webkit")
        program = mini_browser()
        if program is None or not all(map(shutil.which, ("Xvfb", "WebKitWebDriver"))):
            raise FileNotFoundError(
                "No WebKitGTK was found; install Debian's packages xvfb and webkit2gtk-driver."
            )
        read, write = os.pipe()
        screen = ["-screen", "0", "1600x2400x24", "-nolisten", "tcp"]
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._display = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), *screen], pass_fds=[write], **quiet
        )
        os.close(write)
        with os.fdopen(read) as pipe:
            display = pipe.readline().strip()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._root = f"http://127.0.0.1:{port}"
        environment = {**os.environ, "DISPLAY": f":{display}", "LANG": "en_US.UTF-8", "HOME": str(home)}
        # WebKit hides shared memory from pages unless it is asked for.
        environment |= {"XDG_RUNTIME_DIR": str(home), "JSC_useSharedArrayBuffer": "1"}
        self._driver = subprocess.Popen(
            ["WebKitWebDriver", f"--port={port}"], env=environment, start_new_session=True, **quiet
        )
        self._session = ""
        options = {"binary": program, "args": ["--automation"]}
        wanted = {"capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}}
        begun = self._begin(wanted)
        self._session = f"/session/{begun['sessionId']}"
        # Its user agent has another number.
        self.version = str(begun["capabilities"]["browserVersion"])

    def open(self, address: str) -> WebKitTab:
        """Opens `address` in the browser's window."""
        self.ask("POST", "/url", {"url": address})
        tab = WebKitTab(self)
        # The driver was seen to answer too early after a page that had computed for minutes.
        eventually(lambda: bool(tab.evaluate(_IS_LOADED, address)), f"WebKit does not load {address}.")
        return tab

    def ask(self, method: str, path: str, body: object = None, seconds: float = PATIENCE) -> Any:
        """Sends a command and returns its value. Raises RuntimeError with the driver's sentence."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self._root}{self._session}{path}", data, method=method)
        try:
            with urlopen(request, timeout=seconds + PATIENCE) as answer:
                return json.load(answer)["value"]
        except HTTPError as error:
            raise RuntimeError(f"WebKit refuses {path}: {error.read().decode()}") from error

    def close(self) -> None:
        """Ends the browser, the driver and the display."""
        with suppress(OSError, RuntimeError):
            self.ask("DELETE", "")
        for process in (self._driver, self._display):
            process.terminate()
            process.wait()

    def _begin(self, wanted: object) -> Any:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.ask("POST", "/session", wanted)
            except URLError:
                # The driver does not listen yet.
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)


@contextmanager
def webkit() -> Iterator[WebKit]:
    """Yields a running browser with a home of its own, and ends it."""
    with tempfile.TemporaryDirectory(prefix="minga-webkit-", ignore_cleanup_errors=True) as home:
        browser = WebKit(Path(home))
        try:
            yield browser
        finally:
            browser.close()
