"""What somebody sees of a volunteer's update under each protection that a task can have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from backend.crypto.keystream import keystream
from backend.crypto.random_words import KEY_BYTES, keyed_words
from backend.formats.task_file import TaskFile
from backend.lab.leakage.lab_round import LabRound
from backend.numerics.masking.bit_packing import Words
from backend.numerics.masking.encoding import Encoding, add_encoded, decode, private_contribution
from backend.numerics.privacy import deviation
from backend.numerics.privacy.gaussian import add_gaussian
from backend.numerics.privacy.skellam import Skellam
from backend.numerics.privacy.summing import PrivateMean
from backend.numerics.vectors import Vector
from backend.peer.training.private_step import ExampleClip
from backend.peer.training.protection import clipped_and_noised

_CLIP, _NOISE = 1.0, 1.0


@dataclass(frozen=True)
class ProtectionSettings:
    """The settings of all protections.

    `noise` is a multiple of `clip`; `mask_clip` is the clip of masked sums without noise.
    """

    clip: float
    noise: float
    mask_clip: float
    microbatch: int
    group: int

    @classmethod
    def of(
        cls, file: TaskFile, clip: float | None, noise: float | None, group: int | None
    ) -> ProtectionSettings:
        """Returns the values given, or else the task's, or else a clip of 1 and noise of 1 times that."""
        privacy = file.privacy
        return cls(
            clip or (privacy.clip if privacy else _CLIP),
            noise if noise is not None else (privacy.noise_multiplier if privacy else _NOISE),
            file.security.clip,
            privacy.microbatch if privacy else 1,
            group or file.security.masked.min_clients,
        )


@dataclass(frozen=True)
class ServerView:
    """An update [P] that somebody sees, of the first `volunteers` of a round together."""

    update: Vector
    volunteers: int


@dataclass(frozen=True)
class UpdateView:
    """A protection: who `sees` what of the update, and the view itself, with noise from a secret key."""

    title: str
    sees: str
    view: Callable[[LabRound, ProtectionSettings, bytes], ServerView]


def _open(group: LabRound, settings: ProtectionSettings, key: bytes) -> ServerView:
    del settings, key
    return ServerView(group.updates[0], 1)


def _masked(group: LabRound, settings: ProtectionSettings, key: bytes) -> ServerView:
    """Returns the words that the server receives, read as if they were an update."""
    encoding = _encoding(group, settings, 0.0)
    words = _encoded(encoding, group.updates[0], key, 0)
    # The masks that a member shares with others look like this keystream to a server without their keys.
    words += keystream(_key(key, 2 * len(group.updates)), encoding.words)
    read = words[: encoding.parameters].view(np.int32) * encoding.step
    return ServerView(read.astype(np.float32), 1)


def _masked_sum(group: LabRound, settings: ProtectionSettings, key: bytes) -> ServerView:
    return _sum(group, settings, key, 0.0)


def _distributed(group: LabRound, settings: ProtectionSettings, key: bytes) -> ServerView:
    return _sum(group, settings, key, settings.noise)


def _sum(group: LabRound, settings: ProtectionSettings, key: bytes, noise: float) -> ServerView:
    """Returns the mean that the server decodes from a masked round, whose masks have cancelled."""
    encoding = _encoding(group, settings, noise)
    total = np.zeros(encoding.words, np.uint32)
    for number, update in enumerate(group.updates):
        total += _encoded(encoding, update, key, number)
    return ServerView(decode(encoding, total).mean, len(group.updates))


def _local(group: LabRound, settings: ProtectionSettings, key: bytes) -> ServerView:
    update = clipped_and_noised(group.updates[0], settings.clip, settings.noise, keyed_words(key))
    return ServerView(update, 1)


def _central(group: LabRound, settings: ProtectionSettings, key: bytes) -> ServerView:
    scale = deviation(settings.clip, settings.noise)
    words = keyed_words(key)

    def add_noise(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
        if scale > 0.0:
            add_gaussian(values, scale, words)

    mean = PrivateMean(len(group.updates[0]), settings.clip, add_noise)
    for update in group.updates:
        mean.add(update)
    return ServerView(mean.mean().astype(np.float32), len(group.updates))


def _examples(group: LabRound, settings: ProtectionSettings, key: bytes) -> ServerView:
    del key  # The trainer draws its own noise.
    clip = ExampleClip(settings.clip, settings.noise, settings.microbatch)
    return ServerView(group.private_update(clip), 1)


PROTECTIONS: Mapping[str, UpdateView] = {
    "open": UpdateView("No protection", "the server, of an open round", _open),
    "masked": UpdateView("Masks", "the server, of one volunteer of a masked round", _masked),
    "masked-sum": UpdateView(
        "Masks: the sum", "the server, of all volunteers of a masked round", _masked_sum
    ),
    "local": UpdateView("Noise by each volunteer", "the server, mechanism = local", _local),
    "distributed": UpdateView(
        "Masks and shares of noise", "the server, of all volunteers, mechanism = distributed", _distributed
    ),
    "central": UpdateView(
        "Noise by the server", "other participants, from two versions, mechanism = central", _central
    ),
    "examples": UpdateView("Private steps", "the server, mechanism = examples", _examples),
}


def _encoding(group: LabRound, settings: ProtectionSettings, noise: float) -> Encoding:
    members = len(group.updates)
    clip = settings.clip if noise else settings.mask_clip
    return Encoding(members, len(group.updates[0]), 0, 32, clip, noise, members)


def _encoded(encoding: Encoding, update: Vector, key: bytes, member: int) -> Words:
    """Returns a member's words [encoding.words] with its share of the noise, before they are masked."""
    words = np.zeros(encoding.words, np.uint32)
    if encoding.noise > 0.0:
        noise = Skellam(encoding.share_variance)
        drawn = keystream(_key(key, 2 * member), 2 * encoding.parameters)
        words[: encoding.parameters] += noise.draw(drawn).view(np.uint32)
    rounding = _key(key, 2 * member + 1)
    add_encoded(
        encoding,
        private_contribution(update, 0),
        lambda start, count: keystream(rounding, count, start),
        words,
    )
    return words


def _key(key: bytes, number: int) -> bytes:
    """Returns an independent key for each number."""
    return keyed_words(key, number)(KEY_BYTES // 4).tobytes()
