"""Receives owners' files in pieces; an interrupted upload resumes at the server's offset."""

from __future__ import annotations

import asyncio
import errno
import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from backend.errors import (
    BadRequestError,
    NotFoundError,
    NotWantedError,
    OverQuotaError,
    RefusedFileError,
    StoreError,
    TooLongError,
)
from backend.formats.file_hash import file_sha256
from backend.server.drafts.draft_store import MIB, Drafts, settle
from backend.server.drafts.record import Draft, DraftUpload, FileKind, StoredFile
from backend.server.drafts.transfer.file_kinds import HEAD_BYTES, check_head, clean_name, suffix_of
from backend.stores.error_translation import translated

# Recommended size: senders may choose another. At the minimum upload rate it takes four minutes.
PIECE_BYTES = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")


class DraftUploads:
    """Receives files of drafts. The offset is the length of the part file, so it survives a killed server."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._busy: set[tuple[str, FileKind]] = set()

    async def begin(
        self, draft: Draft, kind: FileKind, name: str, size: int, sha256: str | None, metadata: str = ""
    ) -> DraftUpload:
        """Begins the upload of a file of `size` bytes; an earlier unfinished upload is discarded.

        Raises RefusedFileError, TooLongError, OverQuotaError or BadRequestError with a remedy.
        """
        name = clean_name(name)
        suffix_of(kind, name)
        if size < 1:
            raise RefusedFileError(f"{name} is empty; check the file.")
        if size > self.max_bytes(kind):
            what = "a smaller model" if kind == "model" else "fewer or smaller examples"
            max_mib = self.max_bytes(kind) // MIB
            raise TooLongError(
                f"{name} has {size / MIB:,.0f} MiB; the limit is {max_mib} MiB. Upload {what}."
            )
        if sha256 is not None and not _SHA256.fullmatch(sha256):
            raise BadRequestError("`sha256` is 64 lower-case hexadecimal digits, or left out.")
        with self._exclusive(draft, kind):
            draft.uploads.pop(kind, None)
            replaced = draft.files[kind].bytes if kind in draft.files else 0
            self._drafts.check_room(draft.owner, size - replaced)
            with translated("The upload cannot be begun"):
                self._drafts.part(draft, kind).write_bytes(b"")
            upload = draft.uploads[kind] = DraftUpload(
                name, size, self._drafts.clock(), sha256, metadata=metadata
            )
            await self._drafts.save(draft)
        return upload

    def max_bytes(self, kind: FileKind) -> int:
        """Returns the length of the longest file."""
        limits = self._drafts.limits
        return MIB * (limits.max_model_mib if kind == "model" else limits.max_data_mib)

    def find(self, draft: Draft, kind: FileKind, upload_id: str) -> tuple[DraftUpload, int]:
        """Returns an upload and how many of its bytes were received: all if it became the draft's file.

        Raises NotFoundError for an upload that was never begun, was discarded or replaced.
        """
        unfinished, stored = draft.uploads.get(kind), draft.files.get(kind)
        if unfinished is not None and unfinished.id == upload_id:
            return unfinished, self.offset(draft, kind)
        if stored is not None and stored.upload is not None and stored.upload.id == upload_id:
            return stored.upload, stored.bytes
        raise NotFoundError("There is no such upload: it was discarded or replaced. Start again.")

    def offset(self, draft: Draft, kind: FileKind) -> int:
        """Returns how many bytes of the unfinished upload were received. Raises NotFoundError without one."""
        _open_upload(draft, kind)
        path = self._drafts.part(draft, kind)
        return path.stat().st_size if path.is_file() else 0

    async def append(self, draft: Draft, kind: FileKind, offset: int, parts: AsyncIterator[bytes]) -> int:
        """Appends bytes at `offset` and returns how many were received in total.

        Bytes that arrived before the connection broke are kept. After the last byte the file is checked and
        stored. Raises NotWantedError if `offset` is not the server's offset, RefusedFileError if the file
        is not the announced one.
        """
        upload = _open_upload(draft, kind)
        with self._exclusive(draft, kind):
            received = self.offset(draft, kind)
            if offset != received:
                raise NotWantedError(
                    f"Byte {received} was expected, not {offset}. Request the offset, and continue from "
                    "there."
                )
            path = self._drafts.part(draft, kind)
            with _room_for(upload, path), path.open("ab") as file:
                try:
                    async for part in parts:
                        received += len(part)
                        if received > upload.bytes:
                            raise RefusedFileError(
                                f"{upload.name} was announced with {upload.bytes} bytes, and more arrived. "
                                f"Start again with the current file."
                            )
                        self._drafts.check_exists(draft)
                        self._check_free(upload, received - len(part), len(part))
                        await asyncio.to_thread(file.write, part)
                except BadRequestError:
                    # The connection ended; after the last byte this does not matter.
                    if received < upload.bytes:
                        raise
                finally:
                    await asyncio.to_thread(_flush, file)
            self._drafts.check_exists(draft)
            try:
                await asyncio.to_thread(_check_beginning, kind, upload, path)
                if received == upload.bytes:
                    await self._keep(draft, kind, upload, path)
            except RefusedFileError:
                await self._forget(draft, kind)
                raise
        return received

    def _check_free(self, upload: DraftUpload, received: int, size: int) -> None:
        """Raises OverQuotaError if the disk has no room for `size` more bytes."""
        try:
            self._drafts.check_free(size)
        except OverQuotaError as error:
            raise _disk_full(upload, received) from error

    async def keep_whole(self, draft: Draft) -> bool:
        """Stores files whose last byte arrived just before the server was killed; whether there was one.

        A file that differs from its announcement is discarded, as by `append`.
        """
        stored = False
        for kind, upload in list(draft.uploads.items()):
            if self.offset(draft, kind) == upload.bytes:
                with suppress(RefusedFileError):
                    await self.append(draft, kind, upload.bytes, _no_bytes())
                    stored = True
        return stored

    async def cancel(self, draft: Draft, kind: FileKind) -> None:
        """Discards an upload. Raises NotFoundError if none was begun."""
        _open_upload(draft, kind)
        with self._exclusive(draft, kind):
            await self._forget(draft, kind)

    async def _keep(self, draft: Draft, kind: FileKind, upload: DraftUpload, path: Path) -> None:
        sha256 = await asyncio.to_thread(file_sha256, path)
        self._drafts.check_exists(draft)
        if upload.sha256 not in (None, sha256):
            raise RefusedFileError(
                f"{upload.name} changed during the upload, or while it was read: its SHA-256 begins with "
                f"{sha256[:12]}, not with {(upload.sha256 or '')[:12]}. Send it again."
            )
        suffix = suffix_of(kind, upload.name)
        before = draft.files.get(kind)
        draft.files[kind] = StoredFile(
            upload.name, suffix, upload.bytes, sha256, self._drafts.clock(), upload
        )
        del draft.uploads[kind]
        starter = draft.starter
        if kind == "model":
            draft.starter = None
        try:
            # The record is saved first: the next start renames a complete part file by it.
            await self._drafts.save(draft)
        except StoreError as error:
            # The file is still the upload's, whose offset says that all of it is here.
            draft.uploads[kind] = upload
            draft.starter = starter
            if before is None:
                del draft.files[kind]
            else:
                draft.files[kind] = before
            raise _disk_full(upload, upload.bytes) from error
        with translated("The upload cannot be kept"):
            await asyncio.to_thread(settle, self._drafts.folder(draft), draft)

    async def _forget(self, draft: Draft, kind: FileKind) -> None:
        draft.uploads.pop(kind, None)
        self._drafts.part(draft, kind).unlink(missing_ok=True)
        await self._drafts.save(draft)

    @contextmanager
    def _exclusive(self, draft: Draft, kind: FileKind) -> Iterator[None]:
        """Lets only one request at a time write into a file. Raises NotWantedError for a second one."""
        if (draft.id, kind) in self._busy:
            raise NotWantedError("This file is already being received; wait for that piece.")
        self._busy.add((draft.id, kind))
        try:
            yield
        finally:
            self._busy.discard((draft.id, kind))


async def _no_bytes() -> AsyncIterator[bytes]:
    """Yields nothing: a piece without bytes."""
    parts: tuple[bytes, ...] = ()
    for part in parts:
        yield part


@contextmanager
def _room_for(upload: DraftUpload, path: Path) -> Iterator[None]:
    """Raises OverQuotaError on a full disk, StoreError for other errors of the operating system."""
    with translated("The upload cannot be written"):
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise _disk_full(upload, path.stat().st_size) from error


def _disk_full(upload: DraftUpload, received: int) -> OverQuotaError:
    return OverQuotaError(
        f"The server's disk is full. {received:,} of {upload.bytes:,} bytes of {upload.name} arrived and are "
        "kept. Tell the server's operator; then choose the same file again, and the upload continues."
    )


def _open_upload(draft: Draft, kind: FileKind) -> DraftUpload:
    upload = draft.uploads.get(kind)
    if upload is None:
        raise NotFoundError(f"No {kind} is being uploaded to this draft; start an upload first.")
    return upload


def _check_beginning(kind: FileKind, upload: DraftUpload, path: Path) -> None:
    """Refuses a file by its first bytes, before the rest of it is uploaded."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if len(head) == min(HEAD_BYTES, upload.bytes):
        check_head(kind, upload.name, head)


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
