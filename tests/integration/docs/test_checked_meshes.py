"""The task file of docs/how-to/check-each-other.md passes the checks that the page names."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

from backend.formats.task_file import ByzantineTable, parse_task
from backend.server.drafts.toml import to_toml
from backend.server.estimates.mesh_checks import check_warnings
from tests.integration.commands.command_runner import minga
from tests.integration.docs.test_docs import ROOT, blocks

HOW_TO = ROOT / "docs/how-to/check-each-other.md"


def test_its_task_file_passes_the_check_without_a_warning(tmp_path: Path) -> None:
    table = tomllib.loads((ROOT / "models/digits/task.toml").read_text("utf-8"))
    (text,) = blocks(HOW_TO, "toml")
    del table["security"], table["data"]["shards_per_client"]
    table |= tomllib.loads(text)
    file = parse_task(table, "check-each-other.md")
    assert file.coordination.byzantine == ByzantineTable()
    assert not list(check_warnings(file))
    table["coordination"]["min_available_clients"] = 3
    folder = tmp_path / "digits"
    folder.mkdir()
    shutil.copy(ROOT / "models/digits/README.md", folder)
    (folder / "task.toml").write_text(to_toml(table), "utf-8")
    done = minga("task", "check", str(folder), "--json")
    findings = json.loads(done.stdout)["findings"]
    checks = [(one["state"], one["text"]) for one in findings if one["key"] == "byzantine"]
    assert [state for state, _ in checks] == ["done", "warning"]
    assert checks[1][1].startswith("A round opens with 3 members")
