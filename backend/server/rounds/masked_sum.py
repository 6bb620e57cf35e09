"""A masked sum: adds up masked updates, removes the masks from the sum, and decodes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from backend.crypto.round_context import Terms
from backend.crypto.unmasking import unmask
from backend.errors import MaskingError
from backend.numerics.masking.bit_packing import Words, add_update, masked_words
from backend.numerics.masking.encoding import Decoded, decode
from backend.numerics.masking.sparse import chosen_values
from backend.protocols.rounds.round_effects import AnnounceRound
from backend.protocols.secagg.server_effects import Recover
from backend.protocols.secagg.terms import chosen_of, encoding_of, signs_of, terms_of
from backend.server.tasks.client_terms import aggregation_terms
from backend.server.tasks.task import Task
from backend.wire.masked_messages import Masking

# More threads wait for memory, not for processors.
MAX_THREADS = 8


@dataclass
class MaskedSum:
    """The sum of one group's masked updates. Owned by the worker thread of the task's jobs.

    Memory does not grow with the number of updates: `words` [parameters that are sent and further values];
    one more of these while a packed update is added. They are freed once the sum is `decoded`.
    """

    terms: Terms
    words: Words
    # The decoded sum, after the masks are removed, if it counts.
    decoded: Decoded | None = None

    def add(self, content: memoryview) -> None:
        """Adds a masked update of the round's length in bytes."""
        terms = self.terms
        add_update(self.words, content, chosen_values(terms.parameters, terms.share), terms.rows, terms.bits)

    def unmask(self, recover: Recover) -> Decoded:
        """Removes the masks, in parallel on several processors, and returns the decoded sum.

        Raises ShareMismatchError, with the sum unchanged, and MaskingError where it cannot be decoded.
        """
        count = min(MAX_THREADS, os.cpu_count() or 1)
        with ThreadPoolExecutor(count, "unmask") as threads:

            def run(jobs: Sequence[Callable[[], None]]) -> None:
                for done in [threads.submit(job) for job in jobs]:
                    done.result()

            unmask(self.words, recover, count, run)
        try:
            encoding = encoding_of(self.terms, len(recover.members))
            decoded = decode(encoding, self.words, signs_of(encoding, recover.context))
        except ValueError as error:
            raise MaskingError(str(error)) from error
        chosen = chosen_of(self.terms, recover.context)
        self.words = np.zeros(0, np.uint32)
        return decoded if chosen is None else replace(decoded, mean=chosen.spread(decoded.mean))


def empty_sum(terms: Terms) -> MaskedSum:
    """Returns the empty sum of a round with these `terms`."""
    chosen = chosen_values(terms.parameters, terms.share)
    return MaskedSum(terms, np.zeros(masked_words(chosen, terms.rows), np.uint32))


def masking_of(task: Task, opened: AnnounceRound, weights: str) -> tuple[Masking, Terms]:
    """Returns the terms of the opened round, which trains the version at the address `weights`.

    They hold for each of its groups: on the wire, and as all members hash them.
    """
    security, privacy, manifest = task.file.security, task.file.privacy, task.bundle.manifest
    chosen, promised = security.masked, aggregation_terms(task.file)
    masking = Masking(
        bits=chosen.bits,
        clip=promised.clip,
        examples=chosen.examples or max(1, opened.most_examples),
        noise=privacy.noise_multiplier if privacy else 0.0,
        share=chosen.share,
        min_clients=promised.min_clients,
        server=promised.server,
    )
    terms = terms_of(
        masking,
        task=task.file.name,
        bundle=task.bundle.address,
        number=opened.round,
        version=opened.version,
        weights=weights,
        parameters=manifest.parameters.total,
        rows=sum(metric.rows for metric in manifest.metrics),
    )
    return masking, terms
