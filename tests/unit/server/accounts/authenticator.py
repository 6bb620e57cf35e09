"""A passkey without a device: real keys and signatures, laid out as WebAuthn says (level 2, 6 and 7)."""

from __future__ import annotations

import hashlib
import json
import secrets
from base64 import urlsafe_b64encode
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def text(data: bytes) -> str:
    """Base64url without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


class Authenticator:
    """Holds one passkey of the site at `origin`, whose name is `site`."""

    def __init__(self, origin: str, site: str) -> None:
        self.origin, self.site = origin, site
        self.id = secrets.token_bytes(32)
        self.uses = 0
        self.flags = PRESENT | VERIFIED
        self._key = ec.generate_private_key(ec.SECP256R1())

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answers navigator.credentials.create."""
        numbers = self._key.public_key().public_numbers()
        x, y = (value.to_bytes(32, "big") for value in (numbers.x, numbers.y))
        key = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})
        attested = bytes(16) + len(self.id).to_bytes(2, "big") + self.id + key
        data = self._data(self.flags | ATTESTED) + attested
        statement = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", options["challenge"])
        return self._answer({"clientDataJSON": text(client), "attestationObject": text(statement)})

    def get(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answers navigator.credentials.get."""
        self.uses += 1
        data, client = self._data(self.flags), self._client("webauthn.get", options["challenge"])
        signed = self._key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        response = {"clientDataJSON": client, "authenticatorData": data, "signature": signed}
        return self._answer({name: text(value) for name, value in response.items()})

    def _data(self, flags: int) -> bytes:
        return hashlib.sha256(self.site.encode()).digest() + bytes([flags]) + self.uses.to_bytes(4, "big")

    def _client(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _answer(self, response: dict[str, str]) -> dict[str, Any]:
        id = text(self.id)
        return {"id": id, "rawId": id, "type": "public-key", "response": response}
