"""Files on their way into drafts: cut off, gone on with, restarted, refused."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from backend.errors import (
    BadRequestError,
    MingaError,
    NotFoundError,
    NotWantedError,
    OverQuotaError,
    RefusedFileError,
    TooLongError,
)
from backend.server.drafts.draft_store import DAY_SECONDS, Drafts
from backend.server.drafts.limits import DraftLimits
from backend.server.drafts.record import Draft, FileKind
from backend.server.drafts.transfer.uploads import DraftUploads

LIMITS = DraftLimits(
    max_drafts=3,
    max_model_mib=2,
    max_data_mib=3,
    max_owner_mib=4,
    min_free_mib=1,
    draft_days=10,
    upload_days=2,
)


class Clock:
    """Time of day, moved by hand."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


async def opened(folder: Path, clock: Clock | None = None, limits: DraftLimits = LIMITS) -> Drafts:
    drafts = Drafts(folder / "drafts", limits, clock or Clock())
    await drafts.start()
    return drafts


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def broken(*parts: bytes) -> AsyncIterator[bytes]:
    """A connection that ends in the middle."""
    for part in parts:
        yield part
    raise BadRequestError("The connection ended.")


def keras_file(size: int = 3000) -> bytes:
    """A zip with so many bytes or some more, all the same."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("config.json"), b"{}" + bytes(size))
    return file.getvalue()


async def test_a_file_that_was_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    drafts, content = await opened(tmp_path), keras_file()
    uploads, draft = DraftUploads(drafts), await drafts.create("ana", {}, "")
    await uploads.begin(draft, "model", "m.keras", len(content), hashlib.sha256(content).hexdigest())
    with pytest.raises(BadRequestError):
        await uploads.append(draft, "model", 0, broken(content[:700], content[700:1000]))
    assert uploads.offset(draft, "model") == 1000
    assert await uploads.append(draft, "model", 1000, pieces(content[1000:])) == len(content)
    assert drafts.file(draft, "model").read_bytes() == content
    assert draft.files["model"].sha256 == hashlib.sha256(content).hexdigest()
    assert not draft.uploads


async def test_a_killed_server_goes_on_with_every_byte_that_it_had(tmp_path: Path) -> None:
    drafts, content = await opened(tmp_path), keras_file()
    draft = await drafts.create("ana", {"name": "cats"}, "About cats.")
    await DraftUploads(drafts).begin(draft, "model", "m.keras", len(content), None)
    await DraftUploads(drafts).append(draft, "model", 0, pieces(content[:1234]))
    again = await opened(tmp_path)
    same = again.get(draft.id)
    assert (same.task, same.readme, same.owner) == ({"name": "cats"}, "About cats.", "ana")
    assert DraftUploads(again).offset(same, "model") == 1234
    await DraftUploads(again).append(same, "model", 1234, pieces(content[1234:]))
    assert again.file(same, "model").read_bytes() == content


async def test_a_server_killed_between_the_last_byte_and_its_record_keeps_the_file_when_it_starts(
    tmp_path: Path,
) -> None:
    drafts, content = await opened(tmp_path), keras_file()
    whole, changed, part = [await drafts.create("ana", {}, "") for _ in range(3)]
    sha256 = hashlib.sha256(content).hexdigest()
    for draft, said, came in ((whole, sha256, content), (changed, "0" * 64, content), (part, sha256, b"PK")):
        await DraftUploads(drafts).begin(draft, "model", "m.keras", len(content), said)
        drafts.part(draft, "model").write_bytes(came)
    again = await opened(tmp_path)
    uploads = DraftUploads(again)
    kept = [await uploads.keep_whole(again.get(draft.id)) for draft in (whole, changed, part)]
    assert kept == [True, False, False]
    assert again.file(again.get(whole.id), "model").read_bytes() == content
    # What is not as announced is forgotten, as if its last piece had just come.
    assert (again.get(changed.id).files, again.get(changed.id).uploads) == ({}, {})
    assert uploads.offset(again.get(part.id), "model") == 2


async def test_a_file_is_kept_though_its_connection_ended_right_after_its_last_byte(tmp_path: Path) -> None:
    drafts, content = await opened(tmp_path), keras_file()
    uploads, draft = DraftUploads(drafts), await drafts.create("ana", {}, "")
    await uploads.begin(draft, "model", "m.keras", len(content), None)
    assert await uploads.append(draft, "model", 0, broken(content)) == len(content)
    assert drafts.file(draft, "model").read_bytes() == content


async def test_who_lost_the_last_answer_hears_that_the_file_is_whole(tmp_path: Path) -> None:
    drafts, content = await opened(tmp_path), keras_file()
    uploads, draft = DraftUploads(drafts), await drafts.create("ana", {}, "")
    upload = await uploads.begin(draft, "model", "m.keras", len(content), None)
    await uploads.append(draft, "model", 0, pieces(content))
    again = await opened(tmp_path)
    for store in (drafts, again):
        assert DraftUploads(store).find(store.get(draft.id), "model", upload.id) == (upload, len(content))
        with pytest.raises(NotFoundError):
            DraftUploads(store).find(store.get(draft.id), "model", "0" * 16)
    # The next upload has a URL of its own, while the first one's file is still here.
    other = await uploads.begin(draft, "model", "m.keras", 100, None)
    assert uploads.find(draft, "model", other.id) == (other, 0)
    assert uploads.find(draft, "model", upload.id)[1] == len(content)


async def test_an_upload_that_was_replaced_takes_no_more_bytes(tmp_path: Path) -> None:
    drafts = await opened(tmp_path)
    uploads, draft = DraftUploads(drafts), await drafts.create("ana", {}, "")
    first = await uploads.begin(draft, "data", "d.csv", 8, None)
    second = await uploads.begin(draft, "data", "d.csv", 8, None)
    with pytest.raises(NotFoundError, match="replaced"):
        uploads.find(draft, "data", first.id)
    await uploads.cancel(draft, "data")
    with pytest.raises(NotFoundError, match="discarded"):
        uploads.find(draft, "data", second.id)


async def test_an_unfinished_upload_of_an_older_server_has_an_id(tmp_path: Path) -> None:
    drafts = await opened(tmp_path)
    draft = await drafts.create("ana", {}, "")
    await DraftUploads(drafts).begin(draft, "data", "d.csv", 8, None)
    record = drafts.folder(draft) / "draft.json"
    told = json.loads(record.read_bytes())
    del told["uploads"]["data"]["id"], told["uploads"]["data"]["metadata"]
    record.write_text(json.dumps(told))
    same = (await opened(tmp_path)).get(draft.id)
    assert len(same.uploads["data"].id) == 16


async def test_a_server_killed_before_a_file_had_its_name_gives_it_at_the_next_start(tmp_path: Path) -> None:
    drafts, content = await opened(tmp_path), keras_file()
    draft = await drafts.create("ana", {}, "")
    await DraftUploads(drafts).begin(draft, "model", "m.keras", len(content), None)
    await DraftUploads(drafts).append(draft, "model", 0, pieces(content))
    drafts.file(draft, "model").rename(drafts.part(draft, "model"))
    again = await opened(tmp_path)
    assert again.file(again.get(draft.id), "model").read_bytes() == content


async def test_leftovers_of_a_killed_server_are_swept(tmp_path: Path) -> None:
    drafts = await opened(tmp_path)
    draft = await drafts.create("ana", {}, "")
    folder = drafts.folder(draft)
    (folder / ".convert-x").mkdir()
    (folder / ".convert-x" / "said").write_text("half")
    (folder / "data.part").write_bytes(b"nobody's")
    (folder / "model.keras").write_bytes(b"nobody's")
    await opened(tmp_path)
    assert [path.name for path in folder.iterdir()] == ["draft.json"]


async def test_a_damaged_record_costs_the_others_nothing(tmp_path: Path) -> None:
    drafts = await opened(tmp_path)
    bad, good = await drafts.create("ana", {}, ""), await drafts.create("ana", {}, "")
    (drafts.folder(bad) / "draft.json").write_bytes(b'{"id": 3')
    again = await opened(tmp_path)
    assert [draft.id for draft in again.of("ana")] == [good.id]
    assert drafts.folder(bad).is_dir()


async def test_uploads_nobody_went_on_with_and_old_drafts_are_forgotten(tmp_path: Path) -> None:
    clock = Clock()
    clock.now = 4e9
    drafts = await opened(tmp_path, clock)
    old = await drafts.create("ana", {}, "")
    await DraftUploads(drafts).begin(old, "data", "d.csv", 100, None)
    clock.now += 3 * DAY_SECONDS
    await drafts.forget_old()
    assert not old.uploads
    assert not drafts.part(old, "data").exists()
    clock.now += 8 * DAY_SECONDS
    await drafts.forget_old()
    assert drafts.of("ana") == []
    assert not drafts.folder(old).exists()


async def test_two_pieces_at_once_do_not_mix(tmp_path: Path) -> None:
    drafts, content = await opened(tmp_path), keras_file()
    uploads, draft = DraftUploads(drafts), await drafts.create("ana", {}, "")
    await uploads.begin(draft, "model", "m.keras", len(content), None)

    async def slow() -> AsyncIterator[bytes]:
        yield content[:500]
        with pytest.raises(NotWantedError, match="already being received"):
            await uploads.append(draft, "model", 0, pieces(content))
        yield content[500:]

    await uploads.append(draft, "model", 0, slow())
    assert drafts.file(draft, "model").read_bytes() == content


async def test_a_new_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    drafts = await opened(tmp_path)
    uploads, draft = DraftUploads(drafts), await drafts.create("ana", {}, "")
    for name, content in (("a.csv", b"a,b\n1,2\n"), ("b.txt", b"once upon a time")):
        await uploads.begin(draft, "data", name, len(content), None)
        await uploads.append(draft, "data", 0, pieces(content))
    assert sorted(path.name for path in drafts.folder(draft).iterdir()) == ["data.txt", "draft.json"]


async def test_owners_see_their_own_drafts_only_and_no_more_than_they_may_have(tmp_path: Path) -> None:
    drafts = await opened(tmp_path)
    mine = [await drafts.create("ana", {}, "") for _ in range(3)]
    await drafts.create("ben", {}, "")
    assert {draft.id for draft in drafts.of("ana")} == {draft.id for draft in mine}
    with pytest.raises(OverQuotaError, match="the limit"):
        await drafts.create("ana", {}, "")
    await drafts.delete(mine[0])
    await drafts.create("ana", {}, "")
    assert not drafts.folder(mine[0]).exists()


async def test_bytes_to_come_count_for_the_quota(tmp_path: Path) -> None:
    drafts = await opened(tmp_path)
    uploads, draft = DraftUploads(drafts), await drafts.create("ana", {}, "")
    await uploads.begin(draft, "data", "d.csv", 3 << 20, None)
    with pytest.raises(OverQuotaError, match="4 MiB"):
        await uploads.begin(draft, "model", "m.keras", 2 << 20, None)
    await uploads.cancel(draft, "data")
    await uploads.begin(draft, "model", "m.keras", 2 << 20, None)
    full = Drafts(drafts.root, replace(LIMITS, min_free_mib=1 << 40), Clock())
    with pytest.raises(OverQuotaError, match="disk"):
        full.check_room("ana", 1)


ZIP, HDF5 = b"PK\x03\x04", b"\x89HDF\r\n\x1a\n"
BAD_BEGINNINGS: list[tuple[FileKind, str, int, str]] = [
    ("model", "m.pkl", 100, "a pickle, which is a program and never opened"),
    ("model", "m.joblib", 100, "a pickle"),
    ("model", "m.pt", 100, "a PyTorch file"),
    ("model", "m.onnx", 100, "cannot be trained"),
    ("model", "m.py", 100, "programs are never run here"),
    ("model", "m.safetensors", 100, "without layers"),
    ("model", "m.tar.gz", 100, "an archive of another kind than zip"),
    ("model", "m", 100, "no model that can be read here"),
    ("model", "m.keras.exe", 100, "no model that can be read here"),
    ("model", "m.keras", 0, "is empty"),
    ("model", "m.keras", -5, "is empty"),
    ("model", "../", 100, "has no name"),
    ("model", "\x00\x1b", 100, "has no name"),
    ("data", "d.xlsx", 100, "save it as CSV"),
    ("data", "d.rar", 100, "an archive of another kind than zip"),
    ("data", "d.ipynb", 100, "a notebook"),
    ("data", "d.npy", 100, "a single array"),
    ("data", "d.png", 100, "a single picture"),
    ("data", "d.html", 100, "no data that can be read here"),
]


@pytest.mark.parametrize(("kind", "name", "size", "sentence"), BAD_BEGINNINGS)
async def test_what_cannot_be_used_is_refused_before_a_byte_of_it_comes(
    tmp_path: Path, kind: FileKind, name: str, size: int, sentence: str
) -> None:
    drafts = await opened(tmp_path)
    draft = await drafts.create("ana", {}, "")
    with pytest.raises(RefusedFileError, match=sentence):
        await DraftUploads(drafts).begin(draft, kind, name, size, None)
    assert [path.name for path in drafts.folder(draft).iterdir()] == ["draft.json"]


@pytest.mark.parametrize(
    ("size", "sentence"), [((2 << 20) + 1, "the limit is 2 MiB"), (10 << 30, "has 10,240 MiB")]
)
async def test_what_is_too_long_is_refused_before_a_byte_of_it_comes(
    tmp_path: Path, size: int, sentence: str
) -> None:
    drafts = await opened(tmp_path)
    draft = await drafts.create("ana", {}, "")
    with pytest.raises(TooLongError, match=sentence):
        await DraftUploads(drafts).begin(draft, "model", "m.keras", size, None)
    assert [path.name for path in drafts.folder(draft).iterdir()] == ["draft.json"]


BAD_CONTENT: list[tuple[FileKind, str, bytes, str]] = [
    ("model", "m.keras", b"\x80\x04\x95" + bytes(60), "does not begin like a .keras file:"),
    ("model", "m.h5", ZIP + bytes(60), "does not begin like a .h5 file:"),
    ("model", "m.zip", HDF5 + bytes(60), "does not begin like a .zip file:"),
    ("model", "m.keras", b"<!doctype html><script>", "does not begin"),
    ("data", "d.npz", b"\x93NUMPY" + bytes(60), "does not begin like a .npz file:"),
    ("data", "d.parquet", b"PK\x03\x04" + bytes(60), "does not begin like a .parquet file:"),
    ("data", "d.csv", b"a,b\n\x00\x01\x02" + bytes(60), "is no text"),
    ("data", "d.zip", b"Rar!\x1a\x07" + bytes(60), "does not begin like a .zip file:"),
    ("data", "d.csv", b"MZ\x90\x00\x03\x00\x00\x00", "is no text"),
]


@pytest.mark.parametrize(("kind", "name", "content", "sentence"), BAD_CONTENT)
async def test_what_is_not_what_its_name_says_is_refused_at_its_first_bytes(
    tmp_path: Path, kind: FileKind, name: str, content: bytes, sentence: str
) -> None:
    drafts = await opened(tmp_path)
    draft = await drafts.create("ana", {}, "")
    # Announced as longer: nobody waits for the rest.
    await DraftUploads(drafts).begin(draft, kind, name, max(len(content), 20), None)
    with pytest.raises(RefusedFileError, match=sentence):
        await DraftUploads(drafts).append(draft, kind, 0, pieces(content.ljust(20, b"\0")))
    assert (draft.uploads, draft.files) == ({}, {})
    assert [path.name for path in drafts.folder(draft).iterdir()] == ["draft.json"]


async def _too_much(uploads: DraftUploads, draft: Draft) -> None:
    await uploads.begin(draft, "data", "d.csv", 8, None)
    await uploads.append(draft, "data", 0, pieces(b"a,b\n1,2", b"and more"))


async def _wrong_place(uploads: DraftUploads, draft: Draft) -> None:
    await uploads.begin(draft, "data", "d.csv", 8, None)
    await uploads.append(draft, "data", 3, pieces(b"1,2"))


async def _changed(uploads: DraftUploads, draft: Draft) -> None:
    await uploads.begin(draft, "data", "d.csv", 8, "0" * 64)
    await uploads.append(draft, "data", 0, pieces(b"a,b\n1,2\n"))


async def _no_hash(uploads: DraftUploads, draft: Draft) -> None:
    await uploads.begin(draft, "data", "d.csv", 8, "../../etc/passwd")


async def _never_begun(uploads: DraftUploads, draft: Draft) -> None:
    await uploads.append(draft, "data", 0, pieces(b"a,b\n1,2\n"))


@pytest.mark.parametrize(
    ("act", "kind", "sentence"),
    [
        (_too_much, RefusedFileError, "announced with 8 bytes, and more arrived"),
        (_wrong_place, NotWantedError, "Byte 0 was expected, not 3"),
        (_changed, RefusedFileError, "changed during the upload"),
        (_no_hash, MingaError, "64 lower-case hexadecimal digits"),
        (_never_begun, NotFoundError, "start an upload first"),
    ],
)
async def test_a_file_that_does_not_come_as_announced_is_not_kept(
    tmp_path: Path, act: object, kind: type[MingaError], sentence: str
) -> None:
    drafts = await opened(tmp_path)
    draft = await drafts.create("ana", {}, "")
    assert callable(act)
    with pytest.raises(kind, match=sentence):
        await act(DraftUploads(drafts), draft)
    assert draft.files == {}


@pytest.mark.parametrize("name", ["../../etc", "..", "a" * 17, "A" * 16, "", "0123456789abcde/"])
async def test_an_id_never_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    drafts = await opened(tmp_path)
    with pytest.raises(NotFoundError):
        drafts.get(name)
