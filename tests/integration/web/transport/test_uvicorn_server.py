from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, resource, sys
soft, hard, connections = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
from backend.settings import ServerLimits
from backend.web.transport.uvicorn_server import allow_connections
limits = allow_connections(ServerLimits(max_connections=connections))
print(json.dumps([limits.max_connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0]]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on open files")
@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "let_in", "raised_to"),
    [(128, 4000, 500, 500, 1756), (128, 700, 500, 444, 700), (2000, 2000, 500, 500, 2000)],
    ids=["room enough", "too little room", "raised already"],
)
def test_as_many_connections_are_let_in_as_the_system_allows_files_for(
    soft: int, hard: int, wanted: int, let_in: int, raised_to: int
) -> None:
    command = [sys.executable, "-c", PROGRAM, str(soft), str(hard), str(wanted)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout.splitlines()[-1]) == [let_in, raised_to]
    assert ("ulimit" in ran.stdout + ran.stderr) == (let_in < wanted)
