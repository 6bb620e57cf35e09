"""Runs the training worker in a process of Node.js and exchanges its messages.

A message is a map in msgpack, after its length in 4 bytes, little-endian; the worker asks for blobs by their
hash (webapp/static/src/workers/headless/main.ts).
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from backend.errors import BundleError, PeerError
from backend.peer.data.blob_cache import BlobSource
from backend.peer.exact.node_runtime import find_node, find_program

Message = Mapping[str, Any]

LARGEST_MESSAGE = 1 << 30
# Seconds until a worker that was started has said that it is ready.
START_SECONDS = 60.0
_LAST_LINES = 20


class WorkerProcess:
    """One worker, which handles one question after the other. Owns its process.

    `node` and `program` are those of this machine where they are None.
    """

    def __init__(self, blobs: BlobSource, node: Path | None = None, program: Path | None = None) -> None:
        self._blobs = blobs
        self._node = node
        self._program = program
        self._process: asyncio.subprocess.Process | None = None
        self._input: asyncio.StreamWriter | None = None
        self._answers: dict[int, asyncio.Future[Message]] = {}
        self._progress: Callable[[Message], None] | None = None
        self._save: Callable[[Message], None] | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        # States that are being saved.
        self._saves: set[asyncio.Task[None]] = set()
        self._last_id = 0
        self._errors: list[str] = []

    async def start(self) -> None:
        """Starts the worker. Raises PeerError if Node.js or the program is missing, or does not start."""
        node, program = await asyncio.to_thread(self._find)
        pipe = asyncio.subprocess.PIPE
        process = self._process = await asyncio.create_subprocess_exec(
            node, program, stdin=pipe, stdout=pipe, stderr=pipe
        )
        self._input = process.stdin
        if process.stdout is not None and process.stderr is not None:
            self._spawn(self._read(process.stdout))
            self._spawn(self._read_errors(process.stderr))
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), START_SECONDS)
        except TimeoutError:
            await self.close()
            raise PeerError(f"The worker in Node.js did not start within {START_SECONDS:.0f} s.") from None

    async def ask(
        self,
        message: Message,
        report: Callable[[Message], None] | None = None,
        save: Callable[[Message], None] | None = None,
    ) -> Message:
        """Sends a message of the worker's and returns its answer.

        `report` gets the progress before it; `save` gets, in a thread, the states that a training saves, and
        is done with the last one when this returns.
        Raises PeerError with the worker's sentence if it fails, or ends.
        """
        self._last_id += 1
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._answers[self._last_id] = answer
        self._progress, self._save = report, save
        try:
            await self._send({**message, "id": self._last_id})
            return await answer
        finally:
            self._answers.pop(self._last_id, None)
            # A state that cannot be written costs nothing else.
            await asyncio.gather(*self._saves, return_exceptions=True)

    async def stop(self) -> None:
        """Ends the current work after the current step; its question is answered."""
        await self._send({"type": "stop"})

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process is None or self._process.returncode is not None

    async def close(self) -> None:
        """Ends the process."""
        self.kill()
        if self._process is not None:
            await self._process.wait()
        if self._input is not None:
            self._input.close()
        # The pipes have ended with the process, and so do those that read them.
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._ready.cancel()

    def kill(self) -> None:
        """Kills the process; questions that are open fail."""
        if self._process is not None and not self.ended:
            with suppress(ProcessLookupError):
                self._process.kill()

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, message: Message) -> None:
        if self._input is None or self.ended:
            raise PeerError(self._ended())
        body = msgspec.msgpack.encode(message)
        self._input.write(struct.pack("<I", len(body)))
        self._input.write(body)
        with suppress(ConnectionError):
            await self._input.drain()

    async def _read(self, stream: asyncio.StreamReader) -> None:
        try:
            while True:
                (length,) = struct.unpack("<I", await stream.readexactly(4))
                if length > LARGEST_MESSAGE:
                    break
                self._receive(msgspec.msgpack.decode(await stream.readexactly(length)))
        except (asyncio.IncompleteReadError, msgspec.DecodeError):
            pass
        self._fail(PeerError(self._ended()))

    def _receive(self, message: dict[str, Any]) -> None:
        kind = message.get("type")
        if kind == "ready":
            self._ready.set_result(None)
        elif kind == "blob":
            self._spawn(self._bring(str(message["sha256"])))
        elif kind == "progress":
            if self._progress is not None:
                self._progress(message)
        elif kind == "state":
            if self._save is not None:
                saving = asyncio.create_task(asyncio.to_thread(self._save, message))
                self._saves.add(saving)
                saving.add_done_callback(self._saves.discard)
        elif (answer := self._answers.get(message.get("id", 0))) is not None and not answer.done():
            if kind == "failed":
                answer.set_exception(PeerError(str(message["message"])))
            else:
                answer.set_result(message)

    async def _bring(self, sha256: str) -> None:
        """Sends a blob to the worker. Where there is none the error is that of the question."""
        content: bytes | None = None
        try:
            content = await self._blobs.get(sha256)
        except (PeerError, BundleError) as error:
            self._fail(error)
        # If the worker has ended by now, its open question fails with that reason.
        with suppress(PeerError):
            await self._send({"type": "blob", "sha256": sha256, "bytes": content})

    async def _read_errors(self, stream: asyncio.StreamReader) -> None:
        async for line in stream:
            self._errors = [*self._errors[1 - _LAST_LINES :], line.decode("utf-8", "replace").rstrip()]

    def _fail(self, error: Exception) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(error)

    def _ended(self) -> str:
        said = next((line for line in reversed(self._errors) if "Error" in line), "")
        return f"The worker in Node.js has ended{': ' + said if said else '.'}"

    def _find(self) -> tuple[Path, Path]:
        return self._node or find_node(), self._program or find_program()
