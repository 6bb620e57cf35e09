"""Each figure finds its culprit in a small repository, and leaves out what only looks like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.layout.figures import FIGURES
from scripts.layout.settings import Settings, read_old_words, read_settings
from tests.unit.scripts.repository import found, repository, write


def test_a_folder_may_hold_twenty_files_of_code_beside_its_subfolders_and_any_data(tmp_path: Path) -> None:
    files = {f"backend/many/file{number}.py": "" for number in range(21)}
    files |= {f"backend/few/file{number}.py": "" for number in range(20)}
    files |= {"backend/few/below/file.py": "", "backend/few/picture.svg": ""}
    files |= {f"docs/decisions/{number}.html": "" for number in range(30)}
    files |= {f"tests/contract/vectors/{number}.json": "" for number in range(30)}
    assert found(repository(tmp_path, files), "folders_over_20") == ["backend/many/: 21 files"]


def test_new_files_count_and_ignored_or_deleted_ones_do_not(tmp_path: Path) -> None:
    files = {f"web/{number}.css": "" for number in range(20)}
    root = repository(tmp_path, files | {".gitignore": "*.json\n"})
    write(root, {"web/new.css": "", "web/ignored.json": ""})
    assert found(root, "folders_over_20") == ["web/: 21 files"]
    (root / "web/0.css").unlink()
    assert found(root, "folders_over_20") == []


def test_modules_that_import_each_other_are_a_circle(tmp_path: Path) -> None:
    files = {
        "backend/__init__.py": "",
        "backend/one.py": "from backend.two import f\n",
        "backend/two.py": "from backend import three\n",
        "backend/three.py": "def late():\n    from . import one\n",
        "webapp/static/src/a.ts": 'import { b } from "./sub";\n',
        "webapp/static/src/sub/index.ts": 'export * from "../c";\n',
        "webapp/static/src/c.ts": 'const a = () => import("./a");\n',
    }
    assert found(repository(tmp_path, files), "circles") == [
        "backend/one.py: with backend/three.py, backend/two.py",
        "webapp/static/src/a.ts: with webapp/static/src/c.ts, webapp/static/src/sub/index.ts",
    ]


def test_imports_of_types_alone_close_no_circle(tmp_path: Path) -> None:
    files = {
        "backend/one.py": "import backend.two\n",
        "backend/two.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import backend.one\n",
        "webapp/static/src/a.ts": 'import { b } from "./b";\n',
        "webapp/static/src/b.ts": 'import type { A } from "./a";\nimport { type C } from "./a";\n// "./a"\n',
    }
    assert found(repository(tmp_path, files), "circles") == []


def test_a_class_name_belongs_to_one_class_of_each_language(tmp_path: Path) -> None:
    files = {
        "backend/one.py": "class Link: ...\nclass Mirror: ...\n",
        "converter/two.py": "class Link: ...\ndef f():\n    class Mirror: ...\n",
        "benchmarks/three.py": "class Mirror: ...\n",
        "webapp/static/src/a.ts": "export interface Row {}\nclass Mirror {}\nconst text = `class Cell`;\n",
        "webapp/static/src/b.ts": "type Row = { readonly cell: 1 };\ninterface Cell {}\n",
    }
    root = repository(tmp_path, files)
    assert found(root, "shared_class_names") == [
        "backend/one.py, converter/two.py: py Link",
        "webapp/static/src/a.ts, webapp/static/src/b.ts: ts Row",
    ]
    excused = Settings(shared_names={"Link": "a reason", "Row": "another one"})
    assert found(root, "shared_class_names", excused) == []


@pytest.mark.parametrize(
    "line",
    [
        "from backend.wire import messages as say",
        "from backend import effects as do",
        "import socket as np",
        "from numpy import zeros as np",
    ],
)
def test_an_alias_that_hides_a_name_is_found(tmp_path: Path, line: str) -> None:
    assert len(found(repository(tmp_path, {"tests/one.py": f"{line}\n"}), "sentence_aliases")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np",
        "from hypothesis import strategies as st",
        "from keras.src.backend.tensorflow import numpy as keras_numpy",
        "from backend.protocols import mesh_member_events as mesh_events",
        "from backend.wire.mesh import Trained as TrainedFrame",
        "from backend.wire.fields import Kind as Kind",
        "import socket as sockets",
    ],
)
def test_an_alias_that_is_known_or_says_what_it_stands_for_is_not(tmp_path: Path, line: str) -> None:
    assert found(repository(tmp_path, {"tests/one.py": f"{line}\n"}), "sentence_aliases") == []


def test_aliases_are_found_in_typescript_too(tmp_path: Path) -> None:
    text = """\
import * as hand from "./worker-hand";
import * as to from "./events?url";
import { type Step as StepOf, say as checks } from "./checks";
const narrow = other as Hidden;
"""
    assert found(repository(tmp_path, {"webapp/a.ts": text}), "sentence_aliases") == [
        "webapp/a.ts:2: events as to",
        "webapp/a.ts:3: say as checks",
    ]


def test_the_class_of_a_host_is_asked_in_its_own_folder_alone(tmp_path: Path) -> None:
    question = "def f(one, host, session):\n    isinstance(one, {})\n"
    files = {
        "backend/server/mesh/host.py": "class MeshHost: ...\n" + question.format("MeshHost"),
        "backend/server/mesh/below/one.py": question.format("int | MeshHost"),
        "backend/web/two.py": "def f(one):\n    match one.host:\n        case mesh.MeshHost(): ...\n",
        "backend/web/three.py": "def f(session):\n    isinstance(session.host, Pausable)\n",
        "backend/web/four.py": question.format("Hosted") + "    isinstance(session.host.name, str)\n",
        "tests/five.py": question.format("MeshHost"),
    }
    assert found(repository(tmp_path, files), "host_isinstance") == [
        "backend/server/mesh/below/one.py:2: is it a int or MeshHost?",
        "backend/web/three.py:2: is it a Pausable?",
        "backend/web/two.py:3: is it a MeshHost?",
    ]


def test_lengths_of_files_and_functions_are_counted(tmp_path: Path) -> None:
    long = "def f():\n" + "    g()\n" * 60
    files = {
        "backend/__init__.py": "",
        "backend/short.py": "x = 1\n" * 39,
        "backend/enough.py": "x = 1\n" * 40 + long.replace("    g()\n", "", 1),
        "backend/long.py": "x = 1\n" * 340 + long,
    }
    root = repository(tmp_path, files)
    assert found(root, "files_under_40") == ["backend/short.py: 39 lines"]
    assert found(root, "files_over_400") == ["backend/long.py: 401 lines"]
    assert found(root, "functions_over_60") == ["backend/long.py:341: f, 61 lines"]


def test_an_old_word_counts_as_the_name_that_its_row_means(tmp_path: Path) -> None:
    files = {
        "backend/hosting/turns.py": "class Turns: ...\n",
        "backend/hosting/task_host.py": "class TaskHost: ...\nturns = own = line = 1\n",
        "backend/peer/own.py": "def told(site): ...\n",
        "backend/datasets/texts.py": "class Line: ...\n",
        "backend/web/drafting.py": "def told(): ...\n",
        "backend/web/one.py": "told = visit.hopeless\n",
        "tests/unit/hosting/test_turns.py": "class Turns: ...\n",
        "webapp/static/src/ui/dom.ts": "interface D { wake: () => void }\nexport function part(): void {}\n",
        "webapp/static/src/client/going-on.ts": "const desk = { part() {} };\n",
        "webapp/static/src/core/write.ts": "export function write(): void {}\n",
    }
    assert found(repository(tmp_path, files), "old_words") == [
        "backend/hosting/turns.py:1: class Turns (Mailbox)",
        "backend/web/drafting.py:1: function told (json_response)",
        "backend/web/one.py: hopeless (drop_silently)",
        "webapp/static/src/ui/dom.ts:2: function part (requireElement)",
        "backend/hosting/turns.py: module turns (mailbox)",
        "backend/peer/own.py: module own (local_data)",
        "tests/unit/hosting/test_turns.py: module turns (mailbox)",
        "webapp/static/src/client/going-on.ts: module going_on (serverless_runner)",
    ]


def test_a_folder_of_an_old_name_counts_once(tmp_path: Path) -> None:
    files = {f"backend/tasks/looking/{name}.py": "" for name in ("one", "two")}
    assert found(repository(tmp_path, files), "old_words") == [
        "backend/tasks/looking/: module looking (data_inspection)"
    ]


def test_no_new_word_is_an_old_one(tmp_path: Path) -> None:
    words = [word for word in read_settings().old_words if word.kind == "class"]
    assert not {word.new for word in words} & {word.old for word in words}
    with pytest.raises(ValueError, match=r"\[words\] is none of"):
        read_old_words('[words]\nold = "new"\n')


def test_old_phrases_are_found_where_people_read_in_any_case_and_over_line_ends(tmp_path: Path) -> None:
    files = {
        "backend/one.py": '"""Begins\n    ANEW here."""\nMESSAGE = "it goes " "on"\n',
        "backend/two.py": '# This goes\n# on.\n"""Renewed, and manewers."""\n',
        "docs/page.md": "One\nor whoever goes\non.\n",
        "webapp/locales/es.po": 'msgid "Begin anew"\nmsgstr "De nuevo"\n',
        "webapp/templates/page.html": "<p>Begin again</p>",
        "tests/test_one.py": '"""Begins anew."""\n',
    }
    settings = Settings(old_phrases={"anew": "again", "goes on": "continues", "whoever": "anyone who"})
    assert found(repository(tmp_path, files), "old_phrases", settings) == [
        "backend/one.py:2: “anew” (again)",
        "backend/one.py:3: “goes on” (continues)",
        "backend/two.py:1: “goes on” (continues)",
        "docs/page.md:2: “whoever” (anyone who)",
        "docs/page.md:2: “goes on” (continues)",
        "webapp/locales/es.po:1: “anew” (again)",
    ]


def test_missing_texts_are_those_of_this_repository(tmp_path: Path) -> None:
    assert found(repository(tmp_path, {"webapp/locales/es.po": "nonsense"}), "missing_texts") == []
    assert "missing_texts" in {figure.name for figure in FIGURES}
