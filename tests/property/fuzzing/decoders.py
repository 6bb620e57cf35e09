"""Every decoder of bytes from elsewhere, with good inputs to start from and what it may do."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from backend.errors import BadRequestError, BundleError, FrameError, MingaError, WrongLengthError
from backend.formats.manifest import Manifest, parse_manifest
from backend.formats.shard_file import decode_shard
from backend.server.hosting.limits import USUAL
from backend.server.hosting.uploads import WINDOW_BYTES, UpdateUploads
from backend.web.drafts.tus import read_metadata
from backend.web.transport.socket_receiver import SocketReceiver
from backend.wire.codec import decode_client, decode_server, encode
from backend.wire.graphdef import op_names
from backend.wire.mesh_codec import decode_peer, decode_to_peer, decode_to_server, encode_mesh
from backend.wire.messages import CHUNK_BYTES, Chunk, Offer
from backend.wire.signals import (
    SignalKind,
    SignedSignal,
    decode_body,
    decode_signal,
    encode_body,
    encode_signal,
)
from backend.wire.units_codec import decode_to_units, decode_units
from tests.contract.vectors.frames import make_frames, make_mesh_frames, make_units_frames
from tests.contract.vectors.mesh import make_sealed_link
from tests.property.fuzzing.mutate import Mutator
from tests.support.tasks import tiny_task
from tests.support.web.frame_streams import MOST, Collecting, receive

GOLDEN = {
    side: frames
    for file in (make_frames, make_mesh_frames, make_units_frames)
    for side, frames in json.loads(file.PLACE.read_text()).items()
}

SIGNALS = json.loads(make_sealed_link.PLACE.read_text())["signals"]


@dataclass(frozen=True)
class Decoder:
    """`seeds` are good values, `write` their form in bytes; `read` raises `error` and nothing else."""

    seeds: Sequence[Any]
    write: Callable[[Any], bytes]
    read: Callable[[bytes], None]
    error: type[MingaError]


def decoders() -> dict[str, Decoder]:
    """By name."""
    with tempfile.TemporaryDirectory() as folder:
        task = tiny_task.write_task(Path(folder))
        manifest_text = (task / "bundle" / "bundle.json").read_bytes()
        shards = [path.read_bytes() for path in sorted((task / "shards").glob("*.msgpack"))]
    manifest = parse_manifest(manifest_text)
    pack = msgspec.msgpack.encode
    return {
        "client frames": Decoder(
            _frames("client"), pack, _reads_canonically(decode_client, encode), FrameError
        ),
        "server frames": Decoder(
            _frames("server"), pack, _reads_canonically(decode_server, encode), FrameError
        ),
        "frames to a mesh's server": Decoder(
            _frames("to_server"), pack, _reads_canonically(decode_to_server, encode_mesh), FrameError
        ),
        "frames to a peer": Decoder(
            _frames("to_peer"), pack, _reads_canonically(decode_to_peer, encode_mesh), FrameError
        ),
        "frames of a peer": Decoder(
            _frames("peer"), pack, _reads_canonically(decode_peer, encode_mesh), FrameError
        ),
        "frames of work units": Decoder(
            _frames("units_to_server"), pack, _reads_canonically(decode_units, encode), FrameError
        ),
        "frames to a client of work units": Decoder(
            _frames("to_units"), pack, _reads_canonically(decode_to_units, encode), FrameError
        ),
        "signals of a peer": Decoder(_signals(), pack, _reads_signal, FrameError),
        "chunks": Decoder(_chunks(), pack, _receives, WrongLengthError),
        "streams": Decoder(STREAMS, _stream, _reads_stream, FrameError),
        "shards": Decoder(
            [msgspec.msgpack.decode(shard) for shard in shards], pack, _reads_shard(manifest), BundleError
        ),
        "manifests": Decoder(
            [msgspec.json.decode(manifest_text)], msgspec.json.encode, _reads_manifest, BundleError
        ),
        "graphs": Decoder(_graphs(), _as_they_are, _reads_graph, BundleError),
        "metadata of uploads": Decoder(
            [b"filename ZC5jc3Y=", b"filename ZC5jc3Y=, sha256 YWI=,relativePath bnVsbA==,is_private"],
            _as_they_are,
            _reads_metadata,
            BadRequestError,
        ),
    }


def try_inputs(decoder: Decoder, seed: int, count: int) -> int:
    """Reads `count` inputs; how many were good. Raises AssertionError for the first fault."""
    random = Random(seed)
    mutator = Mutator(random, decoder.seeds, decoder.write)
    good = 0
    for _ in range(count):
        data = mutator.make()
        try:
            decoder.read(data)
            good += 1
        except decoder.error:
            continue
        except BaseException as error:
            raise AssertionError(f"{type(error).__name__}: {error} for {data[:2000]!r}") from error
    return good


def _as_they_are(data: Any) -> bytes:
    if not isinstance(data, bytes):
        raise TypeError("Bytes stay bytes.")
    return data


def _frames(kind: str) -> list[Any]:
    return [msgspec.msgpack.decode(bytes.fromhex(entry["hex"])) for entry in GOLDEN[kind]]


def _reads_canonically(
    decode: Callable[[bytes], Any], write: Callable[[Any], bytes]
) -> Callable[[bytes], None]:
    """A message that was read is written in one form only, which is read as the same."""

    def read(data: bytes) -> None:
        form = write(decode(data))
        assert write(decode(form)) == form

    return read


def _signals() -> list[Any]:
    """Signals as they come, and, for the mutations to reach them, what is inside of them."""
    return [msgspec.msgpack.decode(bytes.fromhex(case["note"])) for case in SIGNALS] + [
        [case["kind"], msgspec.msgpack.decode(bytes.fromhex(case["body"]))] for case in SIGNALS
    ]


def _reads_signal(data: bytes) -> None:
    """A signal, or a kind and what is inside of one of that kind: read, and written in one form."""
    if data[:1] == b"\x92":
        try:
            kind, inside = msgspec.msgpack.decode(data, type=tuple[SignalKind, msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise FrameError("This is no kind with what is inside.") from error
        data = encode_signal(SignedSignal(bytes(16), kind, bytes(inside)[: 15 * 1024], bytes(64)))
    signal = decode_signal(data)
    assert decode_signal(encode_signal(signal)) == signal
    body = decode_body(signal)
    again = SignedSignal(signal.session, signal.kind, encode_body(body), signal.signature)
    assert decode_body(again) == body


def _chunks() -> list[Any]:
    """Conversations: a size, then offsets and lengths of chunks."""
    honest = [[at, min(CHUNK_BYTES, 600_000 - at)] for at in range(0, 600_000, CHUNK_BYTES)]
    return [[40, [[0, 40]]], [600_000, honest], [8, [[0, 4], [4, 4], [8, 4]]]]


def _receives(data: bytes) -> None:
    """Chunks fill a buffer of the offered size, in order and on credit, or are refused."""
    try:
        size, parts = msgspec.msgpack.decode(data, type=tuple[int, list[tuple[int, int]]])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WrongLengthError("This is no conversation.") from error
    size %= 4 * WINDOW_BYTES
    uploads = UpdateUploads(USUAL)
    offer = Offer(round=1, version=0, examples=1, steps=1, loss=0.0, sums=[], size=size)
    until = sum(credit.until for _, credit in uploads.grant("ann", offer, 0.0))
    arrived = 0
    for offset, length in parts[:100]:
        chunk = Chunk(
            round=1, offset=abs(offset) % 2**53, data=memoryview(bytes(abs(length) % (2 * CHUNK_BYTES)))
        )
        complete, credits = uploads.chunk("ann", chunk, 0.0)
        if arrived == size:
            assert not complete
            assert not credits
            continue
        arrived += len(chunk.data)
        until = max([until, *(credit.until for _, credit in credits)])
        assert arrived <= until <= size
        assert complete == (arrived == size)


# Seeds of cuts, and frames: opcode with its flag, whether it is masked, payload.
STREAMS: list[Any] = [
    [7, [[0x82, True, b"hello"], [0x82, True, b"m" * 5000], [0x89, True, b"?"], [0x82, True, b"s" * 4095]]],
    [8, [[0x02, True, b"a" * 4500], [0x8A, True, b""], [0x00, True, b"b" * 300], [0x80, True, b"c" * 4096]]],
    [
        9,
        [
            [0x81, True, "é".encode()],
            [0x82, True, b"l" * MOST],
            [0x82, True, b"x" * 70],
            [0x88, True, b"\x03\xe8"],
        ],
    ],
    [0, [[0x82, False, b"n" * 4096], [0x82, True, b"o" * (MOST + 1)]]],
]


def _stream(conversation: Any) -> bytes:
    """A conversation as bytes: first the seed of its cuts."""
    try:
        cuts, frames = msgspec.convert(conversation, tuple[int, list[tuple[int, bool, bytes]]])
    except msgspec.ValidationError as error:
        raise TypeError("A conversation is a number and frames.") from error
    return bytes([cuts % 256]) + b"".join(_frame(*frame) for frame in frames)


def _frame(first: int, masked: bool, payload: bytes) -> bytes:
    length, mask = len(payload), b"\x01\x80\xff\x33"
    form, more = (length, b"") if length < 126 else (126, length.to_bytes(2, "big"))
    head = bytes([first % 256, form | 0x80 * masked]) + more
    return head + (mask + payload if masked else payload)


def _reads_stream(data: bytes) -> None:
    """In whatever pieces a stream comes, the receiver hears what websockets' parser hears."""
    stream = data[1:]
    random = Random(data[0] if data else 0)
    cuts = [random.randrange(len(stream) + 1) for _ in range(random.choice([0, 1, 3, 20]))]
    received, alone = Collecting(), Collecting()
    receive(SocketReceiver(received, MOST), stream, cuts)
    alone.data_received(stream)
    assert received.heard == alone.heard
    fault = alone.connection.parser_exc
    if received.connection.parser_exc is not None:
        assert str(received.connection.parser_exc) == str(fault)
    if fault is not None:
        raise FrameError(str(fault))


def _reads_shard(manifest: Manifest) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        shard = decode_shard(data, manifest)
        assert sum(values.nbytes for values in (*shard.x, *shard.y)) <= len(data)
        assert shard.sample_weight.nbytes <= 4 * len(data)

    return read


def _reads_manifest(data: bytes) -> None:
    manifest = parse_manifest(data)
    assert parse_manifest(msgspec.json.encode(manifest)) == manifest


def _graphs() -> list[bytes]:
    return [
        tiny_task.graph_def("AddV2"),
        tiny_task.graph_def("Neg", "MatMul", "Neg") + b"\x12\x00",
        b"\x08\x96\x01" * 9,
    ]


def _reads_graph(data: bytes) -> None:
    assert 0 < len(op_names(data)) <= len(data)


def _reads_metadata(data: bytes) -> None:
    # Headers come as Latin-1.
    assert all(key.isascii() and "," not in key for key in read_metadata(data.decode("latin-1")))
