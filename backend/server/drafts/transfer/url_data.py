"""Prepares drafts whose clients will fetch the data from a URL; the owner uploads that very file once.

The file is inspected and cut like any other, which gives its preprocessing and its number of examples. The
owner sets the URL; the server sets the hash and size by which clients check the file. The launch deletes the
shards.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backend.formats.shard_index import PREPROCESS
from backend.formats.task_file.url_data import check_address, origin_of
from backend.server.drafts.record import Draft, StoredFile
from backend.translation import gettext

# Placeholders until the data are cut: they make the task file valid, and the checklist prevents its launch.
_COUNT_PLACEHOLDERS = {"train": 1, "held_out": 0}
_FILE_PLACEHOLDERS = {"sha256": "0" * 64, "bytes": 1}


def fixed_url(url: Mapping[str, Any], shards: str) -> dict[str, Any]:
    """Returns an owner's [data.url] with the values that owners cannot choose, and with placeholders."""
    files = url.get("files")
    if isinstance(files, list):
        files = [{**_FILE_PLACEHOLDERS, **file} if isinstance(file, Mapping) else file for file in files]
    completed = {**_COUNT_PLACEHOLDERS, **url, "fitted": f"{shards}/{PREPROCESS}"}
    return completed if files is None else {**completed, "files": files}


def url_completed(
    tables: Mapping[str, Any], stored: StoredFile | None, counts: Mapping[str, int]
) -> dict[str, Any]:
    """Returns `tables` with the hash, size and example counts of the file `stored`, for its clients."""
    data = tables.get("data", {})
    url = data.get("url")
    if data.get("source") != "url" or not isinstance(url, Mapping) or stored is None:
        return dict(tables)
    facts = {"sha256": stored.sha256, "bytes": stored.bytes}
    files = [{**file, **facts} for file in url.get("files", [])]
    return {**tables, "data": {**data, "url": {**url, **counts, "files": files}}}


def address_state(draft: Draft) -> tuple[bool, str]:
    """Returns whether the data's URL is valid for clients, and a sentence on it or on what is missing."""
    url = draft.task.get("data", {}).get("url")
    files = url.get("files") if isinstance(url, Mapping) else None
    if not isinstance(files, list) or not files or not isinstance(files[0], Mapping):
        return False, gettext(
            "Give the address where clients fetch the data: it must serve exactly the file that you upload "
            "here."
        )
    address = str(files[0].get("address", ""))
    if len(files) > 1:
        return False, gettext("Clients of a draft's task fetch one file; make a zip of several.")
    if problem := check_address(address):
        return False, f"{problem[0].upper()}{problem[1:]}."
    stored = draft.files.get("data")
    if stored is not None and files[0].get("sha256") not in (stored.sha256, _FILE_PLACEHOLDERS["sha256"]):
        return False, gettext(
            "The task file describes a different file than the uploaded one. Cut the data again."
        )
    return True, gettext(
        "Clients fetch the data from %(address)s, which must serve exactly the file that you uploaded."
    ) % {"address": address}


def data_origin(draft: Draft) -> str:
    """Returns scheme, host and port of the data's URL, as in headers; empty without a valid URL."""
    placed, _text = address_state(draft)
    return origin_of(draft.task["data"]["url"]["files"][0]["address"]) if placed else ""


def forget_shards(folder: Path) -> None:
    """Deletes the shards, which clients do not fetch, but not the preprocessing. Raises OSError."""
    for path in folder.glob("*.shard"):
        path.unlink()
