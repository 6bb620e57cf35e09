"""Tables as programs and countries write them: separators, encodings, and cells that are no number."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from backend.datasets.inspection.findings import DataFindings
from backend.datasets.inspection.inspect_file import inspect_file
from backend.datasets.inspection.model_input import ModelInput
from backend.errors import DataError
from tests.unit.datasets.inspection.test_inspect_file import cut_as_proposed

ROWS = [(f"{n},{n % 7}5", "Süd" if n % 2 else "Nörd", "ja" if n % 3 else "nein") for n in range(40)]


def table(delimiter: str, decimal: str = ",") -> str:
    """A table of numbers, places and classes."""
    lines = [delimiter.join(("größe", "ort", "klasse"))]
    for size, place, kind in ROWS:
        number = size.replace(",", decimal)
        lines.append(delimiter.join((f'"{number}"' if delimiter == decimal else number, place, kind)))
    return "\r\n".join(lines) + "\r\n"


def looked(folder: Path, content: bytes, name: str = "d.csv") -> DataFindings:
    data = folder / name
    data.write_bytes(content)
    return inspect_file(data, ModelInput(), folder)


@pytest.mark.parametrize(
    ("delimiter", "decimal"), [(";", ","), (";", "."), ("\t", ","), (",", "."), (",", ","), ("|", ".")]
)
def test_separators_are_recognised(tmp_path: Path, delimiter: str, decimal: str) -> None:
    findings = looked(tmp_path, table(delimiter, decimal).encode())
    read = findings.preprocess
    assert (read["delimiter"], read["decimal"]) == (delimiter, decimal)
    assert [(column.name, column.kind) for column in findings.columns] == [
        ("größe", "number"),
        ("ort", "category"),
        ("klasse", "category"),
    ]
    assert findings.columns[0].most == 39.45
    assert cut_as_proposed(tmp_path / "d.csv", findings, tmp_path / "shards") == {"ja": 26, "nein": 14}


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (table(";").encode("utf-8-sig"), None),
        (table(";").encode("cp1252"), "Windows-1252"),
        (codecs.BOM_UTF16_LE + table(";").encode("utf-16-le"), "UTF-16"),
        (codecs.BOM_UTF16_BE + table(";").encode("utf-16-be"), "UTF-16"),
    ],
)
def test_encodings_of_windows_are_read(tmp_path: Path, content: bytes, note: str | None) -> None:
    findings = looked(tmp_path, content)
    assert findings.columns[1].values == {"Nörd": 20, "Süd": 20}
    assert any("not UTF-8" in text for text in findings.notes) == (note is not None)
    assert note is None or note in findings.notes[0]
    assert cut_as_proposed(tmp_path / "d.csv", findings, tmp_path / "shards") == {"ja": 26, "nein": 14}


def test_line_ends_in_quotes_belong_to_their_cell(tmp_path: Path) -> None:
    text = 'a;"a\nnote";class\n' + "".join(f'{n},5;"x\r\ny";{"pq"[n % 2]}\n' for n in range(30))
    findings = looked(tmp_path, text.encode())
    assert (findings.examples, findings.columns[1].name) == (30, "a\nnote")
    assert (findings.preprocess["delimiter"], findings.preprocess["decimal"]) == (";", ",")


def test_a_row_with_another_separator_is_named_with_its_line(tmp_path: Path) -> None:
    text = "a;b;class\n" + "".join(f"{n};{n};{'pq'[n % 2]}\n" for n in range(30)) + "1,2,p\n"
    with pytest.raises(DataError) as told:
        looked(tmp_path, text.encode())
    assert str(told.value) == (
        f"{tmp_path}/d.csv: row 31 has 1 cells where the first row names 3 columns (line 32); it is "
        "separated by commas, the first row by semicolons: use one of them throughout."
    )


def test_a_few_cells_that_are_no_number_cost_nothing_but_a_sentence(tmp_path: Path) -> None:
    rows = [f'"{n}\n{n}",{n}.5,{"pq"[n % 2]}' for n in range(200)]
    rows[56], rows[99] = '"x\ny",n. a.,p', '"x\ny",12x,q'
    findings = looked(tmp_path, ("text,age,class\n" + "\n".join(rows)).encode())
    age = findings.columns[1]
    assert (age.kind, age.missing, age.most) == ("number", 2, 199.5)
    assert findings.preprocess["missing"][-2:] == ["n. a.", "12x"]
    assert findings.notes[0] == (
        f"{tmp_path}/d.csv, line 114: 'n. a.' in column 'age' is no number (2 of 200 cells are none). They "
        "count as missing: as an input they become the mean, as the label their rows are left out. To leave "
        "the rows out, or to read a category, change the column."
    )
    counts = cut_as_proposed(tmp_path / "d.csv", findings, tmp_path / "shards")
    assert sum(counts.values()) == 200


def test_many_cells_that_are_no_number_are_told_and_the_column_may_become_one(tmp_path: Path) -> None:
    rows = [f"{n}.5,{n % 5},{'pq'[n % 2]}" if n % 15 else f"{n},5;x,1,p" for n in range(600)]
    rows = [row if row.count(",") == 2 else f'"{n},5",1,p' for n, row in enumerate(rows)]
    findings = looked(tmp_path, ("size,b,class\n" + "\n".join(rows)).encode())
    assert "line 2: '0,5' in column 'size' is no number (40 of 600 cells are none)" in findings.notes[0]
    assert findings.notes[0].endswith("Correct the cells, or read the column as a category.")
    assert findings.columns[0].most is not None
