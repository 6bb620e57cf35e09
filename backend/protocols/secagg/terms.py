"""What server and clients make of the terms of a masked round alike."""

from __future__ import annotations

from backend.crypto.derive import choice_key, rotation_key
from backend.crypto.keystream import keystream
from backend.crypto.round_context import Terms
from backend.numerics.masking.bit_packing import Words
from backend.numerics.masking.encoding import Encoding
from backend.numerics.masking.rotation import sign_words
from backend.numerics.masking.sparse import Chosen, block_count, choose, chosen_values
from backend.protocols.secagg.degrees import degree
from backend.wire.masked_messages import Masking


def terms_of(
    masking: Masking,
    *,
    task: str,
    bundle: str,
    number: int,
    version: int,
    weights: str,
    parameters: int,
    rows: int,
) -> Terms:
    """The terms of round `number`; `bundle` and `weights` are addresses."""
    return Terms(
        task=task,
        bundle=bundle,
        round=number,
        version=version,
        weights=weights,
        parameters=parameters,
        rows=rows,
        bits=masking.bits,
        clip=masking.clip,
        examples=masking.examples,
        noise=masking.noise,
        share=masking.share,
        min_clients=masking.min_clients,
        server=masking.server,
    )


def encoding_of(terms: Terms, members: int) -> Encoding:
    """How the `members` of a roster turn the values that are sent into whole numbers."""
    threshold = degree(members, "active" if terms.server == "active" else "honest").threshold
    return Encoding(
        members=members,
        parameters=chosen_values(terms.parameters, terms.share),
        rows=terms.rows,
        bits=terms.bits,
        clip=terms.clip,
        noise=terms.noise,
        sharers=max(terms.min_clients, threshold),
    )


def signs_of(encoding: Encoding, context: bytes) -> Words | None:
    """The public signs of the rotation of a round with this `context`; None where nothing is rotated."""
    if not encoding.rotated:
        return None
    return keystream(rotation_key(context), sign_words(encoding.parameters))


def chosen_of(terms: Terms, context: bytes) -> Chosen | None:
    """Which parameters a round with this `context` sends; None where it sends them all."""
    if terms.share == 1.0:
        return None
    words = keystream(choice_key(context), block_count(terms.parameters))
    return choose(terms.parameters, terms.share, words)
