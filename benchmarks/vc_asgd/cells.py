"""The cells of the experiments of VC-ASGD at the paper's shape, by name, and what each run is kept as.

The nine cells are P1C3, P3C3 and P5C5 with 2, 4 and 8 units at once, all with alpha 0.95. On P3C3T4 the other
alphas are tried too: `P3C3T4/0.7`, `P3C3T4/0.999` and `P3C3T4/e`. `serial` is Keras alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from benchmarks.vc_asgd.report import Epoch, Run
from benchmarks.vc_asgd.run import Experiment

PLACES = {
    one.name: one
    for one in (Experiment(*pair, slots) for pair in ((1, 3), (3, 3), (5, 5)) for slots in (2, 4, 8))
}
# Where the alphas are compared.
ALPHA_PLACE = "P3C3T4"
SERIAL = "serial"
ALPHA_CELLS = {
    f"{ALPHA_PLACE}/{name}": replace(PLACES[ALPHA_PLACE], alpha=alpha)
    for name, alpha in (("0.7", 0.7), ("0.999", 0.999), ("e", None))
}
# The serial run has no experiment.
CELLS: dict[str, Experiment | None] = {**PLACES, **ALPHA_CELLS, SERIAL: None}


@dataclass(frozen=True)
class CellRun:
    """One cell with one seed: the run by volunteers, or the epochs of the serial run.

    `parameters`, `examples` and `epochs` are those of the training.
    """

    cell: str
    seed: int
    parameters: int
    examples: int
    epochs: int
    run: Run | None
    serial: list[Epoch]

    @property
    def curve(self) -> list[Epoch]:
        """Returns the epochs of either."""
        return self.serial if self.run is None else self.run.epochs


def chosen_cells(names: Sequence[str]) -> list[str]:
    """Returns the cells of these names in their usual order, all without names.

    Raises RuntimeError for a name that no cell has.
    """
    for name in names:
        if name not in CELLS:
            raise RuntimeError(f"'{name}' is no cell; there are {', '.join(CELLS)}.")
    return [name for name in CELLS if not names or name in names]


class RunFolder:
    """A folder with one JSON file for each finished cell and seed, so that a long experiment can be divided.

    Runs of other numbers of epochs or images have other names, and are left alone.
    """

    def __init__(self, folder: Path, examples: int, epochs: int) -> None:
        if folder.exists() and not folder.is_dir():
            raise RuntimeError(f"{folder} is a file; --runs takes a folder.")
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._examples, self._epochs = folder, examples, epochs

    def path(self, cell: str, seed: int) -> Path:
        """Returns the file of a cell with a seed."""
        name = cell.replace("/", "-alpha-")
        return self._folder / f"{name}-seed-{seed}-{self._examples}-images-{self._epochs}-epochs.json"

    def read(self, cell: str, seed: int) -> CellRun | None:
        """Returns a finished run; None if there is none. Raises RuntimeError for a file that holds none."""
        path = self.path(cell, seed)
        if not path.is_file():
            return None
        try:
            return msgspec.json.decode(path.read_bytes(), type=CellRun)
        except msgspec.DecodeError as error:
            raise RuntimeError(f"{path} holds no run ({error}); delete it to run the cell again.") from error

    def write(self, run: CellRun) -> None:
        """Keeps a finished run; a file is there as a whole or not at all."""
        path = self.path(run.cell, run.seed)
        temporary = path.with_suffix(".part")
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n")
        temporary.replace(path)

    def missing(self, cells: Sequence[str], seeds: Sequence[int]) -> list[tuple[str, int]]:
        """Returns cells and seeds without a run, one seed after the other."""
        return [(cell, seed) for seed in seeds for cell in cells if self.read(cell, seed) is None]

    def all(self, cells: Sequence[str], seeds: Sequence[int]) -> list[CellRun]:
        """Returns the finished runs of these cells and seeds."""
        runs = [self.read(cell, seed) for seed in seeds for cell in cells]
        return [run for run in runs if run is not None]
