"""Headless Firefox for tests, driven by its own protocol (Marionette)."""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.browser.webdriver_script import script_body, script_value
from tests.support.environment.preflight import FIREFOX, find_program
from tests.support.plugins.requirements import require
from tests.support.timeouts import LONG, PATIENCE

# It keeps pages that were left, with all workers, for who goes back: after fifty no worker starts any more.
PREFERENCES = """\
user_pref("marionette.port", 0);
user_pref("browser.sessionhistory.max_total_viewers", 0);
"""


class FirefoxTab:
    """The browser's window at one address."""

    def __init__(self, firefox: Firefox) -> None:
        self._firefox = firefox

    def evaluate(self, script: str, argument: object = None, seconds: float = LONG) -> Any:
        """Runs a function of one argument in the page. Raises RuntimeError with what it threw."""
        self._firefox.ask("WebDriver:SetTimeouts", {"script": round(1000 * seconds)})
        wanted = {"script": script_body(script), "args": [json.dumps(argument)], "sandbox": None}
        return script_value(self._firefox.ask("WebDriver:ExecuteAsyncScript", wanted)["value"])

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Has another tab in front of the page as long as the block runs."""
        own = self._firefox.ask("WebDriver:GetWindowHandle", {})["value"]
        other = self._firefox.ask("WebDriver:NewWindow", {"type": "tab", "focus": True})["handle"]
        self._firefox.ask("WebDriver:SwitchToWindow", {"handle": other, "focus": True})
        # The page is asked on while it is behind the other.
        self._firefox.ask("WebDriver:SwitchToWindow", {"handle": own, "focus": False})
        yield
        self._firefox.ask("WebDriver:SwitchToWindow", {"handle": other, "focus": True})
        self._firefox.ask("WebDriver:CloseWindow", {})
        self._firefox.ask("WebDriver:SwitchToWindow", {"handle": own, "focus": True})

    def go(self, address: str) -> None:
        """Opens another address in the tab."""
        self._firefox.ask("WebDriver:Navigate", {"url": address})

    def back(self) -> None:
        """Returns to the page that was left."""
        self._firefox.ask("WebDriver:Back", {})

    def close(self) -> None:
        """Leaves the page, which ends its workers."""
        self._firefox.ask("WebDriver:Navigate", {"url": "about:blank"})


class Firefox:
    """Owns the browser's process and its connection."""

    def __init__(self, profile: Path) -> None:
        require("firefox")
        program = next(filter(None, map(find_program, FIREFOX)), None)
        if program is None:
            raise FileNotFoundError(
                "No Firefox was found; install Debian's package firefox-esr (Ubuntu's firefox)."
            )
        (profile / "user.js").write_text(PREFERENCES, "utf-8")
        flags = ["--headless", "--no-remote", "--marionette", "--remote-allow-system-access"]
        self._process = subprocess.Popen(
            [program, *flags, "--profile", str(profile)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._last = 0
        self._socket = socket.create_connection(("127.0.0.1", self._port(profile)), PATIENCE)
        self._socket.settimeout(2 * LONG)
        self._read()
        self.ask("WebDriver:NewSession", {})

    def open(self, address: str) -> FirefoxTab:
        """Opens `address` in the browser's window."""
        self.ask("WebDriver:Navigate", {"url": address})
        return FirefoxTab(self)

    def ask(self, command: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Sends a command and returns its result. Raises RuntimeError with the browser's sentence."""
        self._last += 1
        body = json.dumps([0, self._last, command, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(body), body))
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(f"Firefox refuses {command}: {error.get('message')}")
        return result if isinstance(result, dict) else {"value": result}

    def close(self) -> None:
        """Ends the browser."""
        with suppress(OSError, ValueError, RuntimeError):
            self.ask("Marionette:Quit", {"flags": ["eForceQuit"]})
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def _port(self, profile: Path) -> int:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(FileNotFoundError, ValueError):
                return int((profile / "MarionetteActivePort").read_text())
            time.sleep(0.05)
        raise TimeoutError("Firefox does not listen.")

    def _read(self) -> Any:
        digits = b""
        while not digits.endswith(b":"):
            digits += self._take(1)
        return json.loads(self._take(int(digits[:-1])))

    def _take(self, count: int) -> bytes:
        taken = b""
        while len(taken) < count:
            piece = self._socket.recv(count - len(taken))
            if not piece:
                raise ConnectionError("Firefox has closed its connection.")
            taken += piece
        return taken


@contextmanager
def firefox() -> Iterator[Firefox]:
    """Yields a running browser with a profile of its own, and ends it."""
    with tempfile.TemporaryDirectory(prefix="minga-firefox-", ignore_cleanup_errors=True) as profile:
        browser = Firefox(Path(profile))
        try:
            yield browser
        finally:
            browser.close()
