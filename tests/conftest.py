"""Fixtures that several parts of the tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def references(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a bundle and Keras' own results for each case (tests/conformance/reference.py)."""
    folder = tmp_path_factory.mktemp("references")
    command = [sys.executable, "-m", "tests.conformance.reference", "-o", str(folder)]
    quiet = os.environ | {"CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "0"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return folder
