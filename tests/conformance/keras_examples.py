"""What docs/how-to/keras-examples.md tells people to do, done: `python -m tests.conformance.keras_examples
DIR`.

DIR/<name>/ holds what a reader would have: the Python, the saved model, the task file, and the bundle that
the page's own command made. Its reference/ holds two steps of Keras (tests/support/keras/reference.py).
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.keras.reference_cache import CACHE, ROOT, run_module
from tests.support.keras.source_digest import converter_sources, digest

PAGE = ROOT / "docs" / "how-to" / "keras-examples.md"
NAMES = ("mnist", "reviews", "engine", "gpt", "denoise")
STEPS = 2


@dataclass(frozen=True)
class Example:
    """A section of the page: the model's Python, the other files by name, and the words of the command."""

    name: str
    script: str
    files: dict[str, str]
    command: list[str]


def examples() -> list[Example]:
    """All sections with a command."""
    return [_example(part) for part in PAGE.read_text("utf-8").split("\n## ") if "```sh" in part]


def _example(section: str) -> Example:
    def blocks(language: str) -> list[str]:
        return re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)

    *beside, script = blocks("python")
    (task,), (command,) = blocks("toml"), blocks("sh")
    files = dict(zip(re.findall(r"`(\w+\.py)`:", section), beside, strict=True))
    name = re.search(r'^name = "(.*)"', task)
    assert name is not None
    return Example(name[1], script, {"task.toml": task, **files}, shlex.split(command))


def built_examples() -> Path:
    """The folder of all examples, made once for each state of page and converter."""
    folder = CACHE / "keras-examples" / digest([PAGE, Path(__file__), *converter_sources()])
    if not folder.exists():
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.parent.mkdir(parents=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as making:
            run_module("tests.conformance.keras_examples", f"{making}/made")
            Path(making, "made").rename(folder)
    return folder


def build(example: Example, folder: Path) -> None:
    """Do what the section says in `folder`."""
    folder.mkdir(parents=True)
    for name, text in {**example.files, "model.py": example.script}.items():
        (folder / name).write_text(text, "utf-8")
    before = Path.cwd()
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        runpy.run_path("model.py")
    finally:
        sys.path.remove(str(folder))
        os.chdir(before)
    # `minga` would be the installed package; this is the one under test.
    command = [sys.executable, "-m", "backend", *example.command[1:]]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{example.name}: {done.stdout}{done.stderr}")


def measure(example: Example, folder: Path) -> None:
    """Write what Keras computes from the saved model beside the bundle."""
    import keras

    from tests.support.keras.cases import Case
    from tests.support.keras.reference import keras_run, write_inputs
    from tests.support.keras.values import class_numbers, events, fractions, numbers, one_hot, tokens

    values = {
        "mnist": ((fractions,), (one_hot,)),
        "reviews": ((tokens(20000),), (events,)),
        "engine": ((numbers,), (class_numbers,)),
        "gpt": ((tokens(100),), (class_numbers, None)),
        "denoise": ((fractions,), (fractions,)),
    }
    x, y = values[example.name]
    batch_size = re.search(r"^batch_size = (\d+)", example.files["task.toml"], re.MULTILINE)
    assert batch_size is not None
    own = {
        k: v
        for name in example.files
        if name.endswith(".py")
        for k, v in runpy.run_path(str(folder / name)).items()
    }
    case = Case(
        example.name,
        lambda: keras.saving.load_model(folder / f"{example.name}.keras", own),
        x=x,
        y=y,
        batch_size=int(batch_size[1]),
        noise=0.0,
    )
    reference = folder / example.name / "reference"
    reference.mkdir()
    write_inputs(case, reference, STEPS)
    keras_run(case, reference, STEPS)


def main() -> None:
    from converter.sandbox.process_limits import quiet_tensorflow

    quiet_tensorflow()
    output = Path(sys.argv[1])
    wanted = sys.argv[2:] or NAMES
    for example in examples():
        if example.name in wanted:
            build(example, output / example.name)
            measure(example, output / example.name)


if __name__ == "__main__":
    main()
