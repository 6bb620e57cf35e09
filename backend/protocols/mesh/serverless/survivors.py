"""The survivors of the last certified round, as one of them knows them: they alone go on without the server.

`protocol/mesh/serverless/survivors.ts` is the mirror.
"""

from __future__ import annotations

from backend.wire.mesh_messages import Certificate


class KnownSurvivors:
    """Those that `own`, one peer, knows of, and has links to. Owned by its machine.

    `certificate` shows the weights that they made; None before the first.
    """

    def __init__(self, own: str) -> None:
        self.own = own
        self.certificate: Certificate | None = None
        self._linked: set[str] = set()

    @property
    def round(self) -> int:
        """The round of the certified weights; 0 before the first."""
        return self.certificate.round if self.certificate else 0

    def has(self, client: str) -> bool:
        """Whether that is one of them, be it this peer or another."""
        return self.certificate is not None and client in self.certificate.survivors

    def believes(self, client: str) -> bool:
        """Whether that is another one of them: nobody else is listened to."""
        return client != self.own and self.has(client)

    @property
    def linked(self) -> list[str]:
        """The others, to whom there are links."""
        named = self.certificate.survivors if self.certificate else []
        return [client for client in named if client != self.own and client in self._linked]

    def up(self, client: str) -> None:
        """There is a link to `client`, whoever that is."""
        self._linked.add(client)

    def down(self, client: str) -> None:
        """There is none any more."""
        self._linked.discard(client)
