"""Computes the total noise of the clients' noise shares in a masked round."""

from __future__ import annotations

import math

from backend.errors import TaskFileError
from backend.formats.task_file.privacy import PrivacyTable
from backend.formats.task_file.security import MaskingTable
from backend.numerics.masking.encoding import Encoding
from backend.protocols.secagg.terms import MOST_ACTIVE, degree
from backend.server.privacy.mechanism import WholeNumbers
from backend.wire.masked_messages import MOST_MEMBERS


def whole_numbers(privacy: PrivacyTable, masking: MaskingTable, parameters: int, rows: int) -> WholeNumbers:
    """Returns the noise of a round in the worst case over all numbers of members.

    Raises TaskFileError if updates and noise do not fit into the task's bits.
    """
    max_members = MOST_ACTIVE if masking.server == "active" else MOST_MEMBERS
    cases: list[WholeNumbers] = []
    for members in range(masking.min_clients, max_members + 1):
        threshold = degree(members, masking.server).threshold
        try:
            encoding = Encoding(
                members=members,
                parameters=parameters,
                rows=rows,
                bits=masking.bits,
                clip=privacy.clip,
                noise=privacy.noise_multiplier,
                sharers=max(masking.min_clients, threshold),
            )
        except ValueError as error:
            if not cases:
                raise TaskFileError(f"[privacy] and security.masking.bits: {error}") from error
            break
        cases.append(_noise_of(encoding))
    return WholeNumbers(
        min(case.ratio for case in cases),
        min(case.variance for case in cases),
        max(case.l1 for case in cases),
    )


def _noise_of(encoding: Encoding) -> WholeNumbers:
    """Returns the noise if only the fewest members that can unmask the round remain."""
    variance, norm = encoding.sharers * encoding.share_variance, encoding.sensitivity
    return WholeNumbers(
        math.sqrt(variance) / norm, variance, norm * min(norm, math.sqrt(encoding.parameters))
    )
