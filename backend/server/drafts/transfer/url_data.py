"""Drafts whose data clients will fetch from an address: the owner brings the very file that lies there, once.

It is looked at and cut like any other, which says how it is read and how many examples it holds. The address
is the owner's to say; what clients check the file by is the server's. At the launch the shards are let go.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backend.formats.shard_index import PREPROCESS
from backend.formats.task_file.url_data import check_address, origin_of
from backend.server.drafts.record import Draft, StoredFile

# Until the data are cut: a task file with these is sound, and the checklist does not let it out.
_UNKNOWN = {"train": 1, "held_out": 0}
_UNSEEN = {"sha256": "0" * 64, "bytes": 1}


def fixed_url(url: Mapping[str, Any], shards: str) -> dict[str, Any]:
    """An owner's [data.url] with what is not theirs to choose, and places for what is not known yet."""
    files = url.get("files")
    if isinstance(files, list):
        files = [{**_UNSEEN, **one} if isinstance(one, Mapping) else one for one in files]
    known = {**_UNKNOWN, **url, "fitted": f"{shards}/{PREPROCESS}"}
    return known if files is None else {**known, "files": files}


def url_completed(
    tables: Mapping[str, Any], stored: StoredFile | None, counts: Mapping[str, int]
) -> dict[str, Any]:
    """`tables` with what cutting the file `stored` found out for clients that fetch it."""
    data = tables.get("data", {})
    url = data.get("url")
    if data.get("source") != "url" or not isinstance(url, Mapping) or stored is None:
        return dict(tables)
    seen = {"sha256": stored.sha256, "bytes": stored.bytes}
    files = [{**one, **seen} for one in url.get("files", [])]
    return {**tables, "data": {**data, "url": {**url, **counts, "files": files}}}


def address_state(draft: Draft) -> tuple[bool, str]:
    """Whether clients can be told where the data lie, and a sentence: what they do, or what is left."""
    url = draft.task.get("data", {}).get("url")
    files = url.get("files") if isinstance(url, Mapping) else None
    if not isinstance(files, list) or not files or not isinstance(files[0], Mapping):
        return False, "Say where clients fetch the data: the address of the very file that you bring here."
    address = str(files[0].get("address", ""))
    if len(files) > 1:
        return False, "Clients of a draft's task fetch one file; make a zip of several."
    if problem := check_address(address):
        return False, f"{problem[0].upper()}{problem[1:]}."
    stored = draft.files.get("data")
    if stored is not None and files[0].get("sha256") not in (stored.sha256, _UNSEEN["sha256"]):
        return False, "The task file tells of another file than the one that is here. Cut the data again."
    return True, f"Clients fetch the data from {address}, which has to be the very file that you brought."


def data_origin(draft: Draft) -> str:
    """Scheme, host and port of the data's address, as headers name them; empty without a sound one."""
    placed, _ = address_state(draft)
    return origin_of(draft.task["data"]["url"]["files"][0]["address"]) if placed else ""


def forget_shards(folder: Path) -> None:
    """Removes shards that clients will not ask for; how they were made stays. Raises OSError."""
    for path in folder.glob("*.shard"):
        path.unlink()
