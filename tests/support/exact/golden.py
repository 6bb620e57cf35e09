"""Committed bundles, and the hashes that every engine of the class `exact` comes to with them.

The bundles are files, so that no version of TensorFlow or Keras changes what is trained.

Usage: python -m tests.support.exact.golden [--bundles]

Writes `golden/hashes.json` anew by Node.js, after a change of kernels that is meant to change bits; with
`--bundles` the bundles before it, from the cases of the conformance zoo.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import tempfile
import zipfile
from pathlib import Path

from tests.support.exact.engines import digest, train_in_node
from tests.support.exact.shards import zoo_shard
from tests.support.exact.work import Work, store_work
from tests.support.keras.reference_cache import references

GOLDEN = Path(__file__).parent / "golden"
HASHES = GOLDEN / "hashes.json"
# A CNN, dropout, a GPT with attention, a stacked LSTM, and layers of noise with silu and elu.
BUNDLES = ("cnn", "dropout", "gpt", "lstm", "noise")
STEPS = (1, 10, 50, 200)
SHARD = "train.shard"
# What training reads of a bundle.
FILES = ("bundle.json", "weights.bin", "train/*", "apply/*")
# The earliest time that a zip file can hold: the same files make the same archive.
NO_TIME = (1980, 1, 1, 0, 0, 0)


def golden_hashes() -> dict[str, dict[int, str]]:
    """Returns the hash of the update after each number of steps, for each bundle."""
    table: dict[str, dict[str, str]] = json.loads(HASHES.read_text("utf-8"))
    return {name: {int(steps): one for steps, one in hashes.items()} for name, hashes in table.items()}


def golden_work(folder: Path, name: str) -> Work:
    """Unpacks a golden bundle into the existing `folder`, its files by their hash into `folder`/blobs."""
    bundle = folder / f"{name}-bundle"
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as archive:
        archive.extractall(bundle, [file for file in archive.namelist() if file != SHARD])
        return store_work(folder / "blobs", bundle, archive.read(SHARD))


def pack(case: Path) -> bytes:
    """Returns the archive of a case of the zoo: its bundle, and a shard of its examples."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        files = {str(path.relative_to(case)): path.read_bytes() for one in FILES for path in case.glob(one)}
        for name, data in sorted({**files, SHARD: zoo_shard(case)}.items()):
            archive.writestr(zipfile.ZipInfo(name, NO_TIME), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()


def main() -> None:
    """Writes the hashes, and the bundles if they are asked for."""
    parser = argparse.ArgumentParser(description="Writes the golden hashes of the class `exact`.")
    parser.add_argument("--bundles", action="store_true", help="make the bundles anew, too")
    if parser.parse_args().bundles:
        cases = references(*BUNDLES)
        for name in BUNDLES:
            (GOLDEN / f"{name}.zip").write_bytes(pack(cases / name))
    table = {}
    with tempfile.TemporaryDirectory(prefix="minga-golden-") as temporary:
        for name in BUNDLES:
            updates = asyncio.run(train_in_node(golden_work(Path(temporary), name), STEPS))
            table[name] = {steps: digest(update) for steps, update in updates.items()}
    HASHES.write_text(json.dumps(table, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
