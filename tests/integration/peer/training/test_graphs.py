"""What a peer runs, and what it refuses to hand to TensorFlow."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from backend.errors import BundleError
from backend.peer.data.blob_cache import BlobCache
from backend.peer.training.control_variates import Variates
from backend.peer.training.graphs import open_bundle
from backend.peer.training.tensorflow_engine import TensorFlowEngine
from backend.peer.training.training_jobs import TrainingJobs
from tests.integration.peer.conftest import BlobServer
from tests.support.tasks.tiny_task import graph_def


@pytest.fixture
def bundle(digits: Path, tmp_path: Path) -> Path:
    """A copy of the digits bundle to tamper with."""
    return Path(shutil.copytree(digits / "built" / "bundle", tmp_path / "bundle"))


def test_the_real_bundle_passes(bundle: Path) -> None:
    checked = open_bundle(bundle, ["train", "apply", "evaluate", "predict"])
    assert checked.manifest.name == "digits"
    assert set(checked.graphs) == {"train", "apply", "evaluate", "predict"}


@pytest.mark.parametrize("op", ["ReadFile", "WriteFile", "PyFunc", "StatefulPartitionedCall", "While"])
def test_a_graph_with_a_foreign_op_is_refused_before_tensorflow_is_imported(bundle: Path, op: str) -> None:
    train = bundle / "native" / "train.pb"
    train.write_bytes(train.read_bytes() + graph_def(op))
    script = (
        "import sys; from pathlib import Path; from backend.errors import BundleError\n"
        "from backend.peer.training.graphs import open_bundle\n"
        "try: open_bundle(Path(sys.argv[1]), ['train', 'apply'])\n"
        "except BundleError as error: print(error)\n"
        "print('tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, bundle], capture_output=True, text=True, check=True)
    sentence, imported = done.stdout.splitlines()
    assert op in sentence
    assert imported == "False"


def test_a_graph_with_a_function_library_is_refused(bundle: Path) -> None:
    train = bundle / "native" / "train.pb"
    train.write_bytes(train.read_bytes() + graph_def(library=b"\x0a\x00"))
    with pytest.raises(BundleError, match="function library"):
        open_bundle(bundle, ["train"])


def test_a_missing_or_damaged_file_is_named(bundle: Path) -> None:
    (bundle / "native" / "apply.pb").unlink()
    with pytest.raises(BundleError, match=r"apply\.pb"):
        open_bundle(bundle, ["train", "apply"])
    (bundle / "bundle.json").write_text("{}")
    with pytest.raises(BundleError, match="Convert the model again"):
        open_bundle(bundle, ["train"])


async def test_a_peer_refuses_a_tampered_bundle_that_a_server_hands_out(
    bundle: Path, blob_server: BlobServer, tmp_path: Path
) -> None:
    manifest = json.loads((bundle / "bundle.json").read_bytes())
    graph = (bundle / "native" / "train.pb").read_bytes() + graph_def("WriteFile")
    manifest["files"]["native/train.pb"] = {"sha256": hashlib.sha256(graph).hexdigest(), "bytes": len(graph)}
    apply = (bundle / "native" / "apply.pb").read_bytes()
    content = json.dumps(manifest).encode()
    for blob in (graph, apply, content):
        blob_server.blobs[hashlib.sha256(blob).hexdigest()] = blob
    async with httpx.AsyncClient() as client:
        blobs = BlobCache(client, blob_server.url, tmp_path / "cache")
        jobs = TrainingJobs(TensorFlowEngine(blobs, "cpu"), blobs, Variates(tmp_path / "variates"))
        with pytest.raises(BundleError, match="WriteFile"):
            await jobs.load(hashlib.sha256(content).hexdigest())
        await jobs.close()
