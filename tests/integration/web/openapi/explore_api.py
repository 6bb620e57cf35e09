"""Schemathesis over the API of a real server, as an owner's program and as an owner in a browser.

`python -m tests.integration.web.openapi.explore_api --cases 200` takes longer than the tests do; findings
come with a `curl`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backend.server.accounts.permissions import SCOPES
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import LONG
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, program

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# A run without a draft, or one that signs itself out, would see nothing but refusals from then on.
# A server that is not ready says so by 503.
CONFIG = """
hooks = "minga_hooks"

[generation]
with-security-parameters = false

[parameters]
"path.name" = "tiny"

[[operations]]
include-path-regex = "^/api/drafts/"
parameters = {{ "path.id" = "{draft}" }}

[[operations]]
include-name = "GET /readyz"
checks.not_a_server_error.enabled = false
"""
# It knows how to send these, but not under these names.
HOOKS = """
import schemathesis

schemathesis.serializer.alias("application/toml", "text/plain")
schemathesis.serializer.alias("application/zip", "application/octet-stream")
schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
"""
LEFT_OUT = ("DELETE /api/drafts/{id}", "DELETE /api/account/sessions", "POST /api/sign-out")


@contextmanager
def explored_server(folder: Path) -> Iterator[Server]:
    """A server with a small task, at which one may sign in and begin drafts as often as one likes."""
    write_task(folder / "tasks" / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGA_SIGN_INS_PER_MINUTE", "100000")
        patch.setenv("MINGA_MAX_DRAFTS", "10000")
        with running(folder / "tasks", folder / "data", log=folder / "log") as server:
            yield server


def explore(server: Server, folder: Path, cases: int) -> list[subprocess.CompletedProcess[str]]:
    """Both runs, with so many cases for each operation beside the edges of what it takes."""
    ann = operator(server)
    robot = program(ann, *SCOPES)
    draft = Drafter(robot).begin("explored").rpartition("/")[2]
    config = folder / "schemathesis.toml"
    (folder / "minga_hooks.py").write_text(HOOKS, "utf-8")
    config.write_text(CONFIG.format(draft=draft), "utf-8")
    by_token = [f"Authorization: Bearer {robot.token}"]
    return [
        _run(server, config, cases, by_token),
        _run(server, config, cases, _as_in_a_browser(ann), "--include-tag", "account"),
    ]


def _as_in_a_browser(visitor: Visitor) -> list[str]:
    cookies = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
    return [f"Cookie: {cookies}", f"Origin: http://{visitor.host}"]


def _run(
    server: Server, config: Path, cases: int, headers: list[str], *words: str
) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(config)]
    command += ["run", f"{server.url}/api/openapi.json", "--checks", CHECKS, "--phases", "coverage,fuzzing"]
    command += ["--max-examples", str(cases), "--seed", "1", "--continue-on-failure", "--no-color", *words]
    command += [word for header in headers for word in ("--header", header)]
    command += [word for name in LEFT_OUT for word in ("--exclude-name", name)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=LONG, check=False, cwd=config.parent
    )


def main() -> int:
    """Prints what both runs say; 1 where one of them found something."""
    parser = argparse.ArgumentParser(
        description="Schemathesis over the API of a server that is started for it."
    )
    parser.add_argument("--cases", type=int, default=200, help="for each operation; default 200")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, explored_server(Path(name)) as server:
        runs = explore(server, Path(name), args.cases)
    for run in runs:
        print(run.stdout, run.stderr)
    return int(any(run.returncode for run in runs))


if __name__ == "__main__":
    sys.exit(main())
