"""The models that benchmarks.exactness trains in every engine."""

from __future__ import annotations

import json
from pathlib import Path

from backend.formats.manifest import parse_manifest
from benchmarks.steps import bundles
from tests.support.exact.shards import random_shard, zoo_shard
from tests.support.exact.work import Work, store_work
from tests.support.keras.reference_cache import ROOT, references

# Models of the gallery whose data are shards, and of benchmarks.support.keras_models on random examples.
GALLERY, MADE = ("digits", "text-lstm"), ("mlp", "cnn", "resnet", "gpt")
# Cases of the conformance zoo on their own examples: with random numbers, state, and several kinds of layers.
ZOO = (
    "dropout",
    "noise",
    "group-normalization",
    "mobilenet",
    "unet",
    "lstm",
    "gru",
    "vit",
    "wavenet",
    "conv3d",
    "several-outputs",
    "encoder-decoder",
)


def prepare(folder: Path, model: str) -> Work:
    """Copies the files of a model's training into `folder`, under their hashes."""
    if model in ZOO:
        case = references(model) / model
        return store_work(folder, case, zoo_shard(case))
    if model in MADE:
        bundle = bundles([model]) / model
        manifest = parse_manifest((bundle / "bundle.json").read_bytes())
        return store_work(folder, bundle, random_shard(manifest))
    built = ROOT / "models" / model / "built"
    if not built.is_dir():
        raise SystemExit(f"{model} is not built here; run `make build` first.")
    shards = built / "shards"
    if not shards.is_dir():
        # Volunteers bring the examples.
        manifest = parse_manifest((built / "bundle" / "bundle.json").read_bytes())
        return store_work(folder, built / "bundle", random_shard(manifest))
    index = json.loads((shards / "shards.json").read_text("utf-8"))["train"][0]
    return store_work(folder, built / "bundle", (shards / index["file"]).read_bytes())
