"""The wheel as a stranger gets it: installed into a fresh environment, run outside the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.timeouts import PATIENCE

# Each test builds the wheel or installs it into a new environment.
pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT],
        check=True,
        capture_output=True,
    )
    return next(out.glob("minga-*.whl"))


@pytest.fixture(scope="module")
def minga(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, installed with the server's own dependencies and nothing else."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=True)
    subprocess.run(
        [
            home / "bin/pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "-c",
            ROOT / "constraints.txt",
            wheel,
        ],
        check=True,
    )
    return home / "bin/minga"


@pytest.fixture
def url(minga: Path, tmp_path: Path) -> Iterator[str]:
    with serving(minga, tmp_path) as address:
        yield address


@contextmanager
def serving(minga: Path, tmp_path: Path) -> Iterator[str]:
    """Yields the address of an installed server."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MINGA"))}
    server = subprocess.Popen(
        [minga, "serve", "--port", "0", "--data-dir", tmp_path / "data", "--json"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield json.loads(server.stdout.readline())["url"]
    finally:
        server.terminate()
        server.stdout.close()
        assert server.wait(PATIENCE) == 0


def get(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=PATIENCE) as reply:
        body: bytes = reply.read()
        return body


def test_the_wheel_holds_the_built_web_app_the_templates_and_the_gallery(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.startswith("minga_assets/webapp/static/dist/assets/") for name in names)
    assert "minga_assets/models/digits/task.toml" in names
    assert "minga_assets/models/digits/built/bundle/bundle.json" in names
    assert "minga_assets/starters/image/task.toml" in names
    assert any(name.startswith("minga_assets/webapp/templates/") for name in names)
    assert "minga_assets/webapp/locales/es.po" in names
    assert "minga_assets/webapp/docs/dist/index.html" in names
    assert "converter/ops.json" in names


def test_the_server_alone_needs_no_tensorflow(minga: Path) -> None:
    listed = subprocess.run(
        [minga.parent / "pip", "list"], check=True, capture_output=True, text=True
    ).stdout.lower()
    for heavy in ("tensorflow", "keras", "tensorflowjs", "aiortc", "playwright", "scikit-learn"):
        assert heavy not in listed


def test_an_installed_server_shows_its_gallery_and_serves_bundles(url: str) -> None:
    assert b"digits" in get(url)
    task = json.loads(get(f"{url}/api/tasks/digits"))
    bundle = json.loads(get(f"{url}/blobs/{task['bundle']}"))
    assert bundle["format"] == "minga-bundle/2"
    page = get(f"{url}/tasks/digits/train").decode()
    script = page.split('src="/static/dist/', 1)[1].split('"', 1)[0]
    assert get(f"{url}/static/dist/{script}")


def test_pipx_installs_the_command_with_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "pipx", with_pip=True)
    subprocess.run([tmp_path / "pipx/bin/pip", "install", "-q", "pipx"], check=True)
    places = {"PIPX_HOME": str(tmp_path / "home"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MINGA"))}
    pinned = f"--pip-args=-c {ROOT / 'constraints.txt'}"
    install: list[str | Path] = [tmp_path / "pipx/bin/pipx", "install", pinned, wheel]
    subprocess.run(install, env=environment | places, check=True, capture_output=True)
    command = tmp_path / "bin/minga"
    run = subprocess.run([command, "--help"], env=environment, capture_output=True, text=True, check=True)
    assert "Operators: run a server" in run.stdout
    with serving(command, tmp_path) as url:
        assert b"digits" in get(url)
        assert b"<html" in get(f"{url}/tasks/digits/train")


def test_a_command_whose_extra_is_missing_says_how_to_get_it(minga: Path, url: str) -> None:
    run = subprocess.run(
        [minga, "peer", "join", url, "--task", "digits"], capture_output=True, text=True, timeout=PATIENCE
    )
    assert run.returncode != 0
    assert "minga[peer]" in run.stderr
    assert "Traceback" not in run.stderr
