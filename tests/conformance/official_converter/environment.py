"""Makes the virtual environment of TF.js' converter once, below `.cache/`, and runs it.

The converter's TensorFlow and tf_keras are those of the tests. TensorFlow Decision Forests and JAX, which it
imports and a Keras model does not need, are left out: `run_converter.py` stands in for them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.support.keras.reference_cache import CACHE
from tests.support.keras.source_digest import digest
from tests.support.timeouts import LONG

VERSION = "4.22.0"
# setuptools 81 has no pkg_resources, which tensorflow-hub imports.
PINS = (
    f"tensorflowjs=={VERSION}",
    "tensorflow-hub==0.16.1",
    "setuptools==80.9.0",
    "packaging==23.2",
    "six==1.17.0",
    "importlib_resources==7.1.0",
)
RUNNER = Path(__file__).with_name("run_converter.py")


class ConverterError(Exception):
    """TF.js' converter cannot convert the model; says why."""


def converter_python() -> Path:
    """Returns the interpreter that has the converter. The test fails where it cannot be installed."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "official-converter.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        home = CACHE / f"official-converter-{digest([Path(__file__)])[:16]}"
        if not home.exists():
            draft = home.with_suffix(".draft")
            shutil.rmtree(draft, ignore_errors=True)
            _install(draft)
            draft.rename(home)
    return home / "bin" / "python"


def run_converter(*arguments: str) -> None:
    """Runs `tensorflowjs_converter` with these arguments. Raises ConverterError with its last words."""
    command = [str(converter_python()), str(RUNNER), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
    if done.returncode:
        raise ConverterError(" ".join(done.stderr.split())[-600:])


def _install(home: Path) -> None:
    venv.create(home, with_pip=True)
    command = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", *PINS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
    if done.returncode:
        pytest.fail(
            f"tensorflowjs=={VERSION} cannot be installed; this test needs a package index once, as "
            f"pip is set up: {done.stderr[-500:]}"
        )
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    # Behind the environment's own packages come those of the tests.
    (home / "lib" / version / "site-packages" / "tests.pth").write_text(
        sysconfig.get_paths()["purelib"] + os.linesep, "utf-8"
    )
