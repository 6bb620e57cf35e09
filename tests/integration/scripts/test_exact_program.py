"""The web app's build says which program computes the same bits, and says the same wherever it is built."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from backend.formats.exact_program import read_exact_program
from backend.formats.file_hash import file_sha256
from backend.settings import dist_folder
from tests.support.tasks.pinned_task import built_program

ROOT = Path(__file__).parents[3]
SOURCES = (
    "package.json",
    "tsconfig.base.json",
    "vite.config.ts",
    "vite.exact.ts",
    "vite.kernels.ts",
    "vite.translations.ts",
)


def test_the_hashes_are_those_of_the_files() -> None:
    files = {path.name: file_sha256(path) for path in (dist_folder() / "assets").iterdir()}
    pinned = built_program().files
    assert {name: files[name] for name in pinned} == pinned


def test_kernels_and_the_wasm_of_tfjs_belong_to_it_and_pages_do_not() -> None:
    manifest = json.loads((dist_folder() / "manifest.json").read_text("utf-8"))
    pages = {Path(chunk["file"]).name for name, chunk in manifest.items() if name.startswith("webapp/")}
    names = built_program().files.keys()
    assert not pages & names
    for start in (
        "main-",
        "shared-",
        "alone-",
        "tfjs-backend-wasm-simd-",
        "tfjs-backend-wasm-threaded-simd-",
    ):
        assert any(name.startswith(start) for name in names), start


@pytest.mark.long
def test_two_builds_of_the_same_source_have_the_same_program(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "webapp/static/src", tmp_path / "webapp/static/src")
    shutil.copytree(ROOT / "webapp/locales", tmp_path / "webapp/locales")
    (tmp_path / "converter").mkdir()
    for name in (*SOURCES, "converter/ops.json"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    vite = ROOT / "node_modules" / ".bin" / "vite"
    subprocess.run([vite, "build", "--logLevel", "error"], cwd=tmp_path, check=True)
    assert read_exact_program(tmp_path / "webapp/static/dist") == built_program()
