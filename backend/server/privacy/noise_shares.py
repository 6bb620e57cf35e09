"""What the shares of noise of a masked round's clients are worth together."""

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
    """The noise of a round at its worst, whatever the number of its members.

    Raises TaskFileError where updates and noise do not fit into the task's bits.
    """
    most = MOST_ACTIVE if masking.server == "active" else MOST_MEMBERS
    found: list[WholeNumbers] = []
    for members in range(masking.min_clients, most + 1):
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
            if not found:
                raise TaskFileError(f"[privacy] and security.masking.bits: {error}") from error
            break
        found.append(_worth(encoding))
    return WholeNumbers(
        min(one.ratio for one in found), min(one.variance for one in found), max(one.l1 for one in found)
    )


def _worth(encoding: Encoding) -> WholeNumbers:
    """Of the shares of the fewest members with whom the round can be unmasked."""
    variance, norm = encoding.sharers * encoding.share_variance, encoding.sensitivity
    return WholeNumbers(
        math.sqrt(variance) / norm, variance, norm * min(norm, math.sqrt(encoding.parameters))
    )
