"""Loads a bundle's native graphs in TensorFlow, after a check against the allow-list of ops."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import backend
from backend.errors import BundleError, PeerError
from backend.formats.manifest import Manifest, NamedTensor, SignatureName, parse_manifest
from backend.formats.op_allowlist import check_native, read_allow_list
from backend.peer.training.cross_entropy_gradient import with_accurate_gradients
from backend.peer.training.graph_memory import check_memory, memory_limit

ALLOW_LIST = Path(backend.__file__).parents[1] / "converter" / "ops.json"

Device = Literal["auto", "cpu", "cuda"]
# A tensor of TensorFlow, which ships no types.
Tensor = Any
Graph = Callable[[Mapping[str, Tensor]], dict[str, Tensor]]


@dataclass(frozen=True)
class CheckedBundle:
    """A bundle whose native graphs contain only ops of the allow-list. `graphs` are serialized GraphDefs."""

    manifest: Manifest
    graphs: Mapping[SignatureName, bytes]


def check_bundle(manifest: bytes, native: Mapping[SignatureName, bytes]) -> CheckedBundle:
    """Parses bundle.json and checks every graph, without TensorFlow.

    Raises BundleError when the manifest is damaged, a graph has no signature, or it contains an op that is
    not on the allow-list: such a bundle could read files or run code, so it never reaches TensorFlow.
    """
    parsed = parse_manifest(manifest)
    allowed = read_allow_list(ALLOW_LIST)
    for name, graph in native.items():
        if name not in parsed.signatures:
            raise BundleError(f"bundle.json has no signature {name}; convert the model again.")
        check_native(f"native/{name}.pb", graph, allowed)
    return CheckedBundle(parsed, dict(native))


def open_bundle(folder: Path, names: Iterable[SignatureName]) -> CheckedBundle:
    """Returns the checked bundle in a folder. Raises BundleError, also for a missing file."""
    try:
        native = {name: (folder / "native" / f"{name}.pb").read_bytes() for name in names}
        return check_bundle((folder / "bundle.json").read_bytes(), native)
    except FileNotFoundError as error:
        raise BundleError(f"The bundle has no file {error.filename}; convert the model again.") from error


@dataclass(frozen=True)
class Graphs:
    """The runnable graphs of one bundle. Each maps named tensors to named tensors (see bundle.md)."""

    manifest: Manifest
    backend: str
    run: Mapping[SignatureName, Graph]


def import_graphs(bundle: CheckedBundle, device: Device = "auto") -> Graphs:
    """Imports a checked bundle. Raises PeerError without TensorFlow, or without the requested GPU.

    XLA stays off: on the CPU it made the small CNN's step several times slower.
    """
    tf = import_tensorflow()
    backend_name = _choose_device(tf, device)
    run = {name: _import_graph(tf, bundle.manifest, name, graph) for name, graph in bundle.graphs.items()}
    return Graphs(bundle.manifest, backend_name, run)


def import_tensorflow() -> Any:
    """Returns the module `tensorflow`. Raises PeerError with install instructions if it is missing."""
    try:
        with _without_notices():
            import tensorflow as tf
    except ImportError as error:
        raise PeerError(
            "A peer needs TensorFlow: run `pip install 'minga[peer]'`, then try again."
        ) from error
    return tf


@contextmanager
def _without_notices() -> Iterator[None]:
    """Discards what TensorFlow's libraries write to standard error while they load; no setting does so.

    Python's own `sys.stderr` still writes to the real one, because other threads may report meanwhile.
    """
    if "tensorflow" in sys.modules:
        yield
        return
    before = sys.stderr
    before.flush()
    with os.fdopen(os.dup(2), "w", buffering=1) as original, Path(os.devnull).open("wb") as nowhere:
        sys.stderr = original
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(original.fileno(), 2)
            sys.stderr = before


def _choose_device(tf: Any, device: Device) -> str:
    """Makes TensorFlow use the requested device, and returns the backend's name on the wire."""
    gpus = tf.config.list_physical_devices("GPU")
    if device == "cuda" and not gpus:
        raise PeerError(
            "TensorFlow finds no CUDA GPU: run `pip install 'minga[cuda]'` and check `nvidia-smi`, "
            "or leave --device out."
        )
    try:
        if device == "cpu":
            tf.config.set_visible_devices([], "GPU")
        for gpu in gpus:
            tf.config.experimental.set_memory_growth(gpu, True)
    except RuntimeError as error:
        # TensorFlow fixes its devices once per process.
        raise PeerError(
            f"TensorFlow runs already with other devices ({error}); start a new process."
        ) from error
    return "tensorflow-cuda" if gpus and device != "cpu" else "tensorflow-cpu"


def _import_graph(tf: Any, manifest: Manifest, name: SignatureName, graph: bytes) -> Graph:
    """Returns one frozen graph as a function from named inputs to named outputs."""
    from google.protobuf.message import DecodeError

    signature = manifest.signatures[name]
    definition = tf.compat.v1.GraphDef()
    try:
        definition.ParseFromString(graph)
        check_memory(tf, name, definition, memory_limit())
        accurate = with_accurate_gradients(tf, definition)
        whole = tf.compat.v1.wrap_function(lambda: tf.graph_util.import_graph_def(accurate, name=""), [])
        feeds = [whole.graph.get_tensor_by_name(_tensor(spec)) for spec in signature.inputs]
        fetches = [whole.graph.get_tensor_by_name(_tensor(spec)) for spec in signature.outputs]
        pruned = whole.prune(feeds, fetches)
    except (ValueError, KeyError, TypeError, IndexError, DecodeError, tf.errors.OpError) as error:
        raise BundleError(
            f"The graph {name} does not fit bundle.json ({error}); convert the model again."
        ) from error
    inputs = [spec.name for spec in signature.inputs]
    outputs = [spec.name for spec in signature.outputs]

    def run(named: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return dict(zip(outputs, pruned(*[named[key] for key in inputs]), strict=True))

    return run


def _tensor(spec: NamedTensor) -> str:
    return spec.tensor if ":" in spec.tensor else f"{spec.tensor}:0"
