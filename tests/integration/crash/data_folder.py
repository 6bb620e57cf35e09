"""What must be true of a data folder, whenever its server was killed."""

from __future__ import annotations

import hashlib
from pathlib import Path

from backend.stores.contracts import VersionRecord
from backend.stores.embedded import open_stores
from tests.support.tasks.tiny_task import SIZE


async def sound(data: Path, task: str, bundle: str) -> list[VersionRecord]:
    """The versions recorded in `data`, after all of its records and blobs were found in order."""
    for place in (data / "blobs").glob("??/*"):
        assert hashlib.sha256(place.read_bytes()).hexdigest() == place.name, "half a blob"
    stores = open_stores(data)
    try:
        run = await stores.records.open_run(task, bundle)
        versions = await stores.records.versions(run)
        rounds = await stores.records.rounds(run)
        given = await stores.records.contributions(run)
        assert [one.version for one in versions] == list(range(len(versions)))
        for version in versions:
            if version.let_go is None:
                assert len(await stores.blobs.read(version.weights, verify=True)) == 4 * SIZE
        made = {one.round: one for one in rounds if one.outcome == "version"}
        assert [one.round for one in versions[1:]] == sorted(made)
        assert all(one.accepted == made[one.round].accepted for one in versions[1:])
        assert sum(one.accepted for one in given) == sum(one.accepted for one in made.values())
        assert sum(one.examples for one in given) == sum(one.examples for one in versions)
        assert sum(one.refused for one in given) == sum(one.refused for one in rounds)
    finally:
        await stores.close()
    return versions
