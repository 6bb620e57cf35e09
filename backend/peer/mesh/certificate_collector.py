"""Collects signatures of a group's survivors, until as many as the group needs form a certificate."""

from __future__ import annotations

from collections.abc import Mapping

from backend.crypto.certificates import weights_statement
from backend.crypto.client_keys import identity_key, sign, verify
from backend.wire.mesh_messages import Certificate, Signed
from backend.wire.peer_messages import Attest


class CertificateCollector:
    """Collects the signatures of one group: `weights` are what all `survivors` (ids) have, `least` must sign.

    `identities` are the survivors' Ed25519 keys, as far as known.
    """

    def __init__(
        self,
        task: str,
        bundle: str,
        run: str,
        number: int,
        group: int,
        survivors: list[str],
        weights: str,
        identities: Mapping[str, bytes],
        least: int,
    ) -> None:
        self.round, self.group, self.weights = number, group, weights
        self.survivors = sorted(survivors)
        self._bundle, self._run, self._least = bundle, run, least
        self._identities = {client: identities[client] for client in survivors if client in identities}
        self._statement = weights_statement(task, bundle, run, number, group, survivors, weights)
        self._signatures: dict[str, Signed] = {}

    @property
    def holders(self) -> int:
        """The number of survivors that signed, this peer included: they have the weights."""
        return len(self._signatures)

    def sign(self, client: str, key: bytes) -> Attest:
        """Signs for this peer and returns the signature for the others; it counts if this is a survivor."""
        signature = sign(key, self._statement)
        if client in self.survivors:
            signed = Signed(client=client, identity=identity_key(key), signature=signature)
            self._signatures[client] = signed
        return Attest(round=self.round, group=self.group, weights=self.weights, signature=signature)

    def add(self, client: str, attest: Attest) -> Certificate | None:
        """Adds a signature; returns the certificate if this one completes it."""
        identity = self._identities.get(client)
        if identity is None or client in self._signatures or attest.weights != self.weights:
            return None
        if not verify(identity, attest.signature, self._statement):
            return None
        self._signatures[client] = Signed(client=client, identity=identity, signature=attest.signature)
        return self.certificate() if len(self._signatures) == self._least else None

    def certificate(self) -> Certificate:
        """Returns the signatures so far as a certificate; it is valid with those of `least` survivors."""
        return Certificate(
            bundle=self._bundle,
            run=self._run,
            round=self.round,
            group=self.group,
            weights=self.weights,
            survivors=self.survivors,
            signatures=sorted(self._signatures.values(), key=lambda signed: signed.client),
        )
