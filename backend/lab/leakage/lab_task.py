"""Opens a task of this machine for the lab: its bundle, its examples, and what a client trains."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from backend.datasets.readers.dataset import fit
from backend.datasets.readers.source import NO_HOLDOUT
from backend.errors import TaskFileError
from backend.formats.manifest import Manifest
from backend.formats.shard_index import read_index
from backend.formats.task_file import TaskFile, VolunteerData
from backend.formats.task_file.reading.reader import read_task_tables
from backend.lab.leakage.lab_round import LocalTraining
from backend.lab.leakage.second_derivative import without_fused_ops
from backend.numerics.vectors import Vector
from backend.peer.data.local_data import read_local_data
from backend.peer.data.shards import Examples, join_shards, read_shard
from backend.peer.training.graphs import Graphs, import_graphs, open_bundle
from backend.server.drafts.toml import to_toml
from backend.server.sandbox.conversion import convert

# A train step of more operations is worth a copy of the graph that takes fewer rows.
LARGE_STEP = 100_000_000
_SMALLEST_POOL = 2


@dataclass(frozen=True)
class LabTask:
    """A task in the lab: `pool` are examples of volunteers, `bias` the place of the last layer's bias."""

    file: TaskFile
    path: Path
    graphs: Graphs
    attack_graphs: Graphs
    weights: Vector
    pool: Examples
    bias: slice

    @property
    def manifest(self) -> Manifest:
        """The bundle's manifest."""
        return self.graphs.manifest

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.bias.stop) - int(self.bias.start)

    @property
    def training(self) -> LocalTraining:
        """What a round asks of a client, at the first learning rate."""
        own, model = self.file.training, self.manifest
        return LocalTraining(
            epochs=own.epochs or 1,
            steps=own.steps or 0,
            batch_size=own.batch_size or model.batch_size,
            learning_rate=own.learning_rate or model.optimizer.learning_rate,
        )

    def graphs_for(self, rows: int, scratch: Path) -> Graphs:
        """Returns attack graphs that take at least `rows` rows, small ones if that saves much time.

        `scratch` is a folder for a converted copy. Raises BundleError.
        """
        large = self.manifest.flops.train > LARGE_STEP and 4 * rows <= self.manifest.batch_size
        model = self.path.parent / self.file.model.file
        if not large or not model.is_file():
            return self.attack_graphs
        output = scratch / f"rows-{rows}"
        if not output.is_dir():
            convert(model, _task_of_rows(self.path, rows, scratch), output)
        return import_graphs(without_fused_ops(open_bundle(output, ("train",))), "cpu")


def open_lab_task(path: Path, file: TaskFile, data: Path | None) -> LabTask:
    """Opens the task file at `path`; `data` are a volunteer's data where the task has none of its own.

    Raises TaskFileError, BundleError, DataError or PeerError if the task cannot be attacked here.
    """
    if file.coordination.scheme != "federated":
        raise TaskFileError(
            f"{path}: the leakage lab attacks updates of federated rounds, and the scheme of this task is "
            f"{file.coordination.scheme}."
        )
    folder = path.parent
    bundle = folder / file.model.bundle
    if not (bundle / "bundle.json").is_file():
        raise TaskFileError(f"{path}: it has no bundle in {bundle}. Run `minga build {folder.name}` first.")
    manifest = open_bundle(bundle, ()).manifest
    bias = last_bias(path, manifest)
    checked = open_bundle(bundle, ("train", "apply", "predict"))
    graphs = import_graphs(checked, "cpu")
    attack_graphs = import_graphs(without_fused_ops(open_bundle(bundle, ("train",))), "cpu")
    weights = np.fromfile(bundle / "weights.bin", "<f4")
    pool = _examples(path, file, manifest, data)
    if len(pool) < _SMALLEST_POOL:
        raise TaskFileError(f"{path}: its data hold {len(pool)} examples; the lab needs more.")
    return LabTask(file, path, graphs, attack_graphs, weights, pool, bias)


def last_bias(path: Path, manifest: Manifest) -> slice:
    """Returns where the bias of the last layer is in the vector of weights.

    Raises TaskFileError where these attacks do not apply to the task file at `path`.
    """
    shape = manifest.inputs[0].shape
    if len(manifest.inputs) != 1 or len(shape) != 3 or shape[2] not in (1, 3):
        raise TaskFileError(
            f"{path}: the leakage lab reconstructs pictures, one input of height x width x 1 or 3; this "
            f"model takes {', '.join(str(spec.shape) for spec in manifest.inputs)}."
        )
    if manifest.inputs[0].dtype != "float32":
        raise TaskFileError(
            f"{path}: this model takes whole numbers, by which nothing can be differentiated; these attacks "
            "need a derivative by the input."
        )
    losses = [output.loss for output in manifest.outputs]
    if len(manifest.labels) != 1 or losses != ["sparse_categorical_crossentropy"]:
        raise TaskFileError(
            f"{path}: the leakage lab restores labels of one output with sparse_categorical_crossentropy; "
            f"this model has {', '.join(str(loss) for loss in losses)}."
        )
    classes = manifest.outputs[0].shape[-1]
    last = [variable for variable in manifest.layout if variable.trainable][-1]
    if last.shape != [classes]:
        raise TaskFileError(
            f"{path}: labels are restored from the bias of the last layer, and this model's has none: its "
            f"last variable is {last.name} {last.shape}."
        )
    return slice(last.offset, last.offset + classes)


def _examples(path: Path, file: TaskFile, manifest: Manifest, data: Path | None) -> Examples:
    """Returns the examples from which volunteers are made."""
    if data is None and file.data.shards is not None:
        folder = path.parent / file.data.shards
        index = read_index(folder)
        return join_shards(read_shard((folder / shard.file).read_bytes(), manifest) for shard in index.train)
    if data is None or file.data.preprocess is None:
        raise TaskFileError(
            f"{path}: its pictures stay with volunteers. Give some of your own with --data PATH, as a "
            "volunteer would."
        )
    limits = file.data.own or VolunteerData()
    fitted = fit(file.data.preprocess, data, NO_HOLDOUT)
    return read_local_data(data, fitted, limits).for_bundle(manifest).train


def _task_of_rows(path: Path, rows: int, scratch: Path) -> Path:
    """Writes a copy of the task file at `path` whose bundle takes `rows` rows."""
    tables = read_task_tables(path)
    tables["model"] = {key: value for key, value in tables["model"].items() if key != "slice"}
    tables["model"]["batch_size"] = rows
    tables.get("training", {}).pop("batch_size", None)
    copy = scratch / "task.toml"
    copy.write_text(to_toml(tables), "utf-8")
    return copy
