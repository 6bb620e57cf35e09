"""A task's data and its bundle have to go together."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from backend.errors import BundleError
from backend.formats.task_file import Data
from backend.server.tasks.bundle_store import check_bundle
from backend.server.tasks.task_data import check_loading
from tests.support.tasks import tiny_task


def test_a_bundle_of_another_scale_is_refused(tmp_path: Path) -> None:
    manifest = check_bundle(tiny_task.write_task(tmp_path / "tiny") / "bundle", frozenset(tiny_task.OPS))
    same = {"source": "shards", "shards": "shards"}
    check_loading(msgspec.convert(same, Data), manifest)
    other = {**same, "preprocess": {"kind": "array", "scale": 0.5}}
    with pytest.raises(BundleError, match="convert the model again"):
        check_loading(msgspec.convert(other, Data), manifest)
