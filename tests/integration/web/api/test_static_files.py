"""How long the web app's files and the documentation's pages may be kept by caches."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from starlette.staticfiles import StaticFiles

from backend.web.api.blobs import IMMUTABLE
from backend.web.api.static_files import PublicFiles


async def cache_rule(files: StaticFiles, name: str) -> str:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(files), base_url="http://minga") as http:
        return (await http.get(f"/{name}")).headers["cache-control"]


@pytest.mark.parametrize(
    ("name", "rule"),
    [("train-BxYz12_4.js", IMMUTABLE), ("manifest.json", "no-cache"), ("tfjs-backend.wasm", "no-cache")],
)
async def test_only_files_whose_name_holds_their_hash_are_kept_for_ever(
    tmp_path: Path, name: str, rule: str
) -> None:
    (tmp_path / name).write_text("content", "utf-8")
    assert await cache_rule(PublicFiles(tmp_path), name) == rule


async def test_a_page_of_the_documentation_is_asked_for_again_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "your-first-training.html").write_text("content", "utf-8")
    assert await cache_rule(PublicFiles(tmp_path, pages=True), "your-first-training.html") == "no-cache"
