"""Hostile files on the server's road: a sentence comes back, within the limits, and nothing is touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import psutil
import pytest

from backend.errors import BundleError
from backend.server.sandbox.conversion import ConversionLimits, convert

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("forked_python")]
layers = keras.layers
LIMITS = ConversionLimits(
    wall_seconds=60, cpu_seconds=60, memory_bytes=4 << 30, file_bytes=64 << 20, parameters=10**6
)
TASK = 'name = "small"\n[model]\nbatch_size = 4\nloss = "mse"\noptimizer = { name = "sgd" }\n'


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A .keras and an .h5 file that would convert."""
    folder = tmp_path_factory.mktemp("honest")
    model = keras.Sequential([keras.Input((4,)), layers.Dense(2, name="dense"), layers.Dense(1, name="last")])
    model.compile("sgd", "mse")
    model.save(folder / "model.keras")
    with h5py.File(folder / "model.h5", "w") as file:
        entry = {
            "class_name": "Dense",
            "config": {"name": "dense", "units": 2, "batch_input_shape": [None, 4]},
        }
        config = {"class_name": "Sequential", "config": {"name": "s", "layers": [entry]}}
        file.attrs["model_config"] = json.dumps(config)
        group = file.create_group("model_weights/dense")
        file["model_weights"].attrs["layer_names"] = ["dense"]
        group.attrs["weight_names"] = ["kernel", "bias"]
        group["kernel"], group["bias"] = np.ones((4, 2), "f4"), np.ones(2, "f4")
    return folder


def rezip(honest: Path, folder: Path, **replaced: bytes) -> Path:
    """The honest .keras file with some members replaced."""
    names = {"config": "config.json", "weights": "model.weights.h5"}
    with (
        zipfile.ZipFile(honest / "model.keras") as old,
        zipfile.ZipFile(folder / "model.keras", "w", 8) as new,
    ):
        for name in old.namelist():
            key = next((k for k, v in names.items() if v == name), "")
            new.writestr(name, replaced.get(key, old.read(name)))
    return folder / "model.keras"


def config(honest: Path, change: Callable[[dict[str, Any]], Any]) -> bytes:
    with zipfile.ZipFile(honest / "model.keras") as file:
        value = json.loads(file.read("config.json"))
    change(value)
    return json.dumps(value).encode()


def layer(**settings: Any) -> Callable[[Path, Path], Path]:
    """The honest model with another first layer."""
    return lambda honest, folder: rezip(
        honest, folder, config=config(honest, lambda c: c["config"]["layers"][1].update(settings))
    )


def lambda_layer(function: Any, **arguments: Any) -> Callable[[Path, Path], Path]:
    return layer(class_name="Lambda", config={"name": "dense", "function": function, "arguments": arguments})


def dense(**settings: Any) -> Callable[[Path, Path], Path]:
    def write(honest: Path, folder: Path) -> Path:
        change = lambda c: c["config"]["layers"][2]["config"].update(settings)  # noqa: E731
        return rezip(honest, folder, config=config(honest, change))

    return write


def many_layers(count: int) -> Callable[[Path, Path], Path]:
    """A Sequential of so many layers, most of them in its configuration only."""

    def change(config: dict[str, Any]) -> None:
        entries = config["config"]["layers"]
        first = {key: value for key, value in entries[1].items() if key != "build_config"}
        for number in range(count - 3):
            entries.append(first | {"config": first["config"] | {"name": f"dense_{number}"}})

    return lambda honest, folder: rezip(honest, folder, config=config(honest, change))


def doubled(times: int) -> Callable[[Path, Path], Path]:
    """A model that calls a model twice, which calls another one twice, and so on."""

    def change(config: dict[str, Any]) -> None:
        model = dict(config)
        for number in range(times):
            nested = model | {"inbound_nodes": [{"args": [], "kwargs": {}}] * 2}
            model = model | {"config": {"name": f"m{number}", "layers": [nested]}}
        config.update(model)

    return lambda honest, folder: rezip(honest, folder, config=config(honest, change))


def nested_loops(depth: int) -> Any:
    layer = layers.Dense(1)
    for _ in range(depth):
        layer = layers.TimeDistributed(layer)
    return layer


def long_sequence(*parts: Any, shape: tuple[int, ...] = (20_000, 2)) -> Callable[[Path, Path], Path]:
    def write(_: Path, folder: Path) -> Path:
        copies = [type(part).from_config(part.get_config()) for part in parts]
        model = keras.Sequential([keras.Input(shape), *copies, layers.Flatten(), layers.Dense(1)])
        model.save(folder / "model.keras")
        return folder / "model.keras"

    return write


def function(module: str, name: str) -> dict[str, Any]:
    return {"module": module, "class_name": "function", "config": name, "registered_name": name}


def h5(change: Callable[[Any], Any]) -> Callable[[Path, Path], Path]:
    """The honest .h5 file after `change`."""

    def write(honest: Path, folder: Path) -> Path:
        shutil.copy(honest / "model.h5", folder / "model.h5")
        with h5py.File(folder / "model.h5", "r+") as file:
            change(file)
        return folder / "model.h5"

    return write


def replaced(create: Callable[[Any], Any]) -> Callable[[Path, Path], Path]:
    """The honest .h5 file with another kernel."""

    def change(file: Any) -> None:
        del file["model_weights/dense/kernel"]
        create(file["model_weights/dense"])

    return h5(change)


def virtual(group: Any) -> None:
    layout = h5py.VirtualLayout((4, 2), "f4")
    layout[:] = h5py.VirtualSource("/etc/passwd", "data", (4, 2))
    group.create_virtual_dataset("kernel", layout)


def members(*entries: tuple[str, bytes, int]) -> Callable[[Path, Path], Path]:
    """A zip of (name, content, Unix mode)."""

    def write(_: Path, folder: Path) -> Path:
        with zipfile.ZipFile(folder / "model.zip", "w", zipfile.ZIP_DEFLATED) as file:
            for name, content, mode in entries:
                info = zipfile.ZipInfo(name)
                info.external_attr = mode << 16
                file.writestr(info, content)
        return folder / "model.zip"

    return write


def many(_: Path, folder: Path) -> Path:
    with zipfile.ZipFile(folder / "model.zip", "w") as file:
        for number in range(20_000):
            file.writestr(str(number), b"")
    return folder / "model.zip"


def lying(_: Path, folder: Path) -> Path:
    """A zip whose directory says that a member of 100 MB is small, as overlapping bombs do for many."""
    with zipfile.ZipFile(folder / "model.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("saved_model.pb", bytes(100 << 20))
    content = (folder / "model.zip").read_bytes()
    size = (100 << 20).to_bytes(4, "little")
    assert content.count(size) == 2
    (folder / "model.zip").write_bytes(content.replace(size, (10).to_bytes(4, "little")))
    return folder / "model.zip"


def tfjs(path: str) -> Callable[[Path, Path], Path]:
    def write(_: Path, folder: Path) -> Path:
        entry = {
            "class_name": "Dense",
            "config": {"name": "dense", "units": 2, "batch_input_shape": [None, 4]},
        }
        topology = {"class_name": "Sequential", "config": {"name": "s", "layers": [entry]}}
        weights = [{"name": "dense/kernel", "shape": [4, 2], "dtype": "float32"}]
        manifest = [{"paths": [path], "weights": weights}]
        (folder / "model.json").write_text(
            json.dumps({"modelTopology": topology, "weightsManifest": manifest})
        )
        (folder / "link.bin").symlink_to("/etc/passwd")
        (folder / "short.bin").write_bytes(b"\0" * 5)
        return folder / "model.json"

    return write


def saved_model(metadata: bytes) -> Callable[[Path, Path], Path]:
    def write(_: Path, folder: Path) -> Path:
        (folder / "saved").mkdir()
        (folder / "saved" / "saved_model.pb").write_bytes(b"PyFunc ReadFile WriteFile")
        (folder / "saved" / "keras_metadata.pb").write_bytes(metadata)
        return folder / "saved"

    return write


def text(name: str, content: str) -> Callable[[Path, Path], Path]:
    return lambda _, folder: (folder / name, (folder / name).write_text(content))[0]


def cut(name: str, share: float) -> Callable[[Path, Path], Path]:
    def write(honest: Path, folder: Path) -> Path:
        content = (honest / name).read_bytes()
        (folder / name).write_bytes(content[: int(len(content) * share)])
        return folder / name

    return write


BOMB: dict[str, Any] = {"chunks": (1 << 20,), "compression": "gzip", "dtype": "f4"}
LOADER = function("keras.models", "load_model")
FILES: list[tuple[str, Callable[[Path, Path], Path], str]] = [
    # Zips
    ("bomb", members(("saved_model.pb", bytes(100 << 20), 0)), "over the limit"),
    ("bomb with a lying directory", lying, "over the limit|damaged"),
    ("many members", many, "20000 files, over the limit"),
    ("path upwards", members(("../../escaped", b"x", 0)), "a path outside"),
    ("absolute path", members(("/var/escaped", b"x", 0)), "a path outside"),
    ("Windows path", members(("..\\escaped", b"x", 0)), "a path outside"),
    ("link", members(("model.json", b"/etc/passwd", 0o120777)), "a path outside"),
    ("device", members(("model.json", b"", 0o020666)), "a path outside"),
    ("one name twice", members(("model.json", b"{}", 0), ("model.json", b"{}", 0)), "damaged|check the path"),
    ("file as folder", members(("a", b"x", 0), ("a/b", b"x", 0)), "check the path"),
    ("zip in a zip", members(("model.zip", b"PK", 0)), "another zip file"),
    # Configurations
    ("deep JSON", lambda h, d: rezip(h, d, config=b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
     "nested too deeply"),
    ("deep lists", lambda h, d: rezip(h, d, config=b'{"a": ' + b"[" * 90 + b"]" * 90 + b"}"),
     "model|custom"),
    ("long number", lambda h, d: rezip(h, d, config=b'{"a": ' + b"9" * 5000 + b"}"), "damaged"),
    ("huge layer", dense(units=10**9), "parameters; at most 1000000"),
    ("huger layer", dense(units=10**30), "Keras cannot load|parameters"),
    ("20,000 layers", many_layers(20_000), "has 20,000 layers.*; at most 2,000 are possible"),
    ("a long chain", many_layers(1_500), "a chain of more layers than Keras can follow"),
    ("65,536 calls of a layer", doubled(16), "has 196,608 layers, where a shared layer counts at each call"),
    ("bomb of a configuration", lambda h, d: rezip(h, d, config=b'{"a": "' + bytes(100 << 20) + b'"}'),
     "over the limit"),
    ("20,000 steps", long_sequence(layers.LSTM(4, name="long")), "layer long takes 20,000 .* up to 1,8.. st"),
    ("20,000 steps back and forth", long_sequence(layers.Bidirectional(layers.GRU(4))), "up to 4.. steps"),
    ("20,000 distributed", long_sequence(layers.TimeDistributed(layers.Dense(1), name="long")),
     "layer long takes 20,000 steps"),
    ("loops in loops", long_sequence(nested_loops(16), shape=(2,) * 17), "operations for such steps"),
    ("name with NUL", dense(name="a\0b"), "has a name that a graph cannot hold"),
    ("negative layer", dense(units=-5), "Keras cannot load"),
    ("a layer of words", dense(units="../../etc"), "Keras cannot load"),
    ("wrong type everywhere", dense(kernel_initializer=[[[]]]), "Keras cannot load"),
    ("huge input", lambda h, d: rezip(h, d, config=config(
        h, lambda c: c["config"]["layers"][0]["config"].update(batch_shape=[None, 2**62]))),
     "Keras cannot load|at most"),
    ("module os", layer(module="os", class_name="system"), "custom system from os"),
    ("module subprocess", layer(module="subprocess", class_name="Popen", registered_name="Popen"),
     "from subprocess"),
    ("registered name", layer(module="builtins", class_name="exec", registered_name="keras>Dense"),
     "from builtins"),
    # What got around Keras' safe mode: CVE-2025-1550, 8747, 9905, 9906, 12058, 2026-1462
    ("Lambda with a module", lambda_layer(function("subprocess", "run")), "Lambda"),
    ("Lambda with a loader", lambda_layer(LOADER, safe_mode=False), "Lambda"),
    ("activation get_file", dense(activation=function("keras.utils", "get_file")), "get_file is custom code"),
    ("activation load_model", dense(activation=LOADER), "load_model is custom code"),
    ("unsafe switch", dense(activation=function("keras.config", "enable_unsafe_deserialization")),
     "custom code"),
    ("internal switch", layer(
        module="keras.src.backend.common.global_state", class_name="set_global_attribute"),
     "custom set_global_attribute"),
    ("vocabulary file", layer(
        class_name="StringLookup", config={"name": "dense", "vocabulary": "/etc/passwd"}),
     "StringLookup: it turns text into numbers"),
    ("SavedModel layer", layer(class_name="TFSMLayer", config={"name": "dense", "filepath": "/var/x"}),
     "TFSMLayer"),
    ("compiled code", lambda h, d: rezip(h, d, config=config(
        h, lambda c: c["compile_config"].update(loss=function("os", "system")))), "system is custom code"),
    ("old Lambda", h5(lambda f: f.attrs.update(
        model_config=f.attrs["model_config"].replace("Dense", "Lambda"))),
     "Lambda"),
    # HDF5
    ("external link", replaced(lambda g: g.update(kernel=h5py.ExternalLink("/etc/passwd", "/"))),
     "link to elsewhere"),
    ("soft link", replaced(lambda g: g.update(kernel=h5py.SoftLink("/model_weights/dense/bias"))),
     "link to elsewhere"),
    ("external storage", replaced(lambda g: g.create_dataset("kernel", (4, 2), "f4", external="/etc/passwd")),
     "in another file"),
    ("virtual dataset", replaced(virtual), "in another file"),
    ("declared giant", replaced(lambda g: g.create_dataset("kernel", (1 << 40,), **BOMB)),
     "claims|over the limit"),
    ("declared large", replaced(lambda g: g.create_dataset("kernel", (1 << 27,), **BOMB)),
     "claims|over the limit"),
    ("giant chunk", replaced(lambda g: g.create_dataset(
        "kernel", (4, 2), "f4", chunks=(1 << 20, 1 << 9), maxshape=(None, None))), "claims|over the limit"),
    ("words for weights", replaced(lambda g: g.create_dataset("kernel", data=["a", "b"])), "no numbers"),
    ("other shape", replaced(lambda g: g.create_dataset("kernel", (2, 4), "f4")),
     "needs weights of the shapes"),
    ("no weights", h5(lambda f: f["model_weights/dense"].attrs.update(weight_names=[])),
     "needs weights of the shapes"),
    ("path in a name", h5(lambda f: f["model_weights/dense"].attrs.update(weight_names=["../../x", "bias"])),
     "damaged"),
    ("weights bomb in a zip", lambda h, d: rezip(h, d, weights=bytes(80 << 20)), "over the limit"),
    ("weights of noise", lambda h, d: rezip(h, d, weights=bytes(4096)), "damaged"),
    # TF.js
    ("weights upwards", tfjs("../secret.bin"), "no file beside it"),
    ("weights elsewhere", tfjs("/etc/passwd"), "no file beside it"),
    ("weights on the web", tfjs("https://example.org/w.bin"), "no file beside it"),
    ("weights through a link", tfjs("link.bin"), "no file beside it"),
    ("weights cut short", tfjs("short.bin"), "cut short"),
    ("deep model.json", text("model.json", '{"a":' * 90_000), "nested too deeply|damaged"),
    # SavedModel: its functions are never looked at
    ("SavedModel of functions", saved_model(b""), "names no model"),
    ("noise for metadata", saved_model(os.urandom(64)), "damaged|names no model"),
    ("endless number", saved_model(b"\xff" * 64), "damaged"),
    # Pickles and cut files
    ("pickle by another name", text("model.keras", "cos\nsystem\n(S'touch /var/escaped'\ntR."), "damaged"),
    ("pickle", text("model.pkl", "cos\nsystem\n(S'touch /var/escaped'\ntR."), "never opened"),
    *((f"{name} cut at {share:.0%}", cut(name, share), "damaged|cannot be read")
      for name in ("model.keras", "model.h5") for share in (0.1, 0.5, 0.9)),
]  # fmt: skip


@pytest.fixture
def fork_server(forked_python: None) -> None:
    """Starts the server that forks converters, which the first test would otherwise take for a leftover."""
    subprocess.run([sys.executable, "-m", "converter", "--help"], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.usefixtures("fork_server")
@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("case", FILES, ids=[f[0] for f in FILES])
def test_a_hostile_file_gets_a_sentence_and_nothing_else(honest: Path, tmp_path: Path, case: Any) -> None:
    _, write, sentence = case
    uploads, work = tmp_path / "uploads", tmp_path / "work"
    uploads.mkdir()
    work.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(32))
    (tmp_path / "task.toml").write_text(TASK)
    path = write(honest, uploads)
    before = {p: p.lstat().st_mtime_ns for p in tmp_path.rglob("*") if p != work}
    running = set(psutil.Process().children(recursive=True))
    with pytest.raises(BundleError, match=sentence):
        convert(path, tmp_path / "task.toml", work / "bundle", LIMITS)
    assert list(work.iterdir()) == []
    assert {p: p.lstat().st_mtime_ns for p in tmp_path.rglob("*") if p != work} == before
    assert not Path("/var/escaped").exists()
    assert set(psutil.Process().children(recursive=True)) <= running


@pytest.mark.parametrize(
    "write",
    [
        lambda honest, _: honest / "model.keras",
        h5(lambda file: file["model_weights"].update(again=file["/"])),
    ],
    ids=["as it is", "loop of groups"],
)
def test_what_only_looks_odd_converts(
    honest: Path, tmp_path: Path, write: Callable[[Path, Path], Path]
) -> None:
    (tmp_path / "task.toml").write_text(TASK)
    assert "files" in convert(write(honest, tmp_path), tmp_path / "task.toml", tmp_path / "made", LIMITS)
