"""Signs the results of groups, and collects the other survivors' signatures."""

from __future__ import annotations

from collections.abc import Callable

from backend.peer.links.links import LinkManager
from backend.peer.mesh.certificate_collector import CertificateCollector
from backend.peer.mesh.result_report import GroupNumbers, ResultReport
from backend.peer.session.progress import Teller
from backend.protocols.mesh import member_events
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Attest


class ResultSigner:
    """Owns the certificate and the report of the last result of one peer, whose private key is `key`.

    `post` takes machine events.
    """

    def __init__(
        self,
        links: LinkManager,
        key: bytes,
        reporter: Teller,
        post: Callable[[member_events.Event], None],
    ) -> None:
        self._links = links
        self._key = key
        self._reporter = reporter
        self._post = post
        self._certificates: CertificateCollector | None = None
        self._report: ResultReport | None = None

    def is_of(self, frame: Attest) -> bool:
        """Whether the signature belongs to the last result."""
        last = self._certificates
        return last is not None and (frame.round, frame.group) == (last.round, last.group)

    def sign(self, order: Group, numbers: GroupNumbers, bundle: str, run: str, weights: str) -> None:
        """Signs `weights` (SHA-256), sends the signature to all survivors, and posts `GroupAveraged`."""
        survivors = [order.members[place] for place in numbers.survivors]
        identities = {
            client: neighbour.identity
            for client in survivors
            if (neighbour := self._links.neighbour(client)) is not None
        }
        local = self._links.local
        self._certificates = CertificateCollector(
            local.task,
            bundle,
            run,
            order.round,
            order.group,
            survivors,
            weights,
            identities,
            max(order.least, len(survivors) // 2 + 1),
        )
        attest = self._certificates.sign(local.client, self._key)
        for client in survivors:
            if client != local.client:
                self._links.send(client, attest)
        self.close()
        self._report = ResultReport(order, numbers, self._certificates, self._reporter)
        self._report.signed()
        self._post(
            member_events.GroupAveraged(
                order.round,
                order.group,
                weights,
                list(numbers.survivors),
                numbers.fraction,
                numbers.seconds,
                attest.signature,
            )
        )

    def add(self, client: str, frame: Attest) -> None:
        """Takes a survivor's signature; posts `WeightsCertified` with the one that completes it.

        Who is no survivor holds the weights, but has no part in the certificate.
        """
        last = self._certificates
        certificate = last.add(client, frame) if last and self._links.local.client in last.survivors else None
        if self._report:
            self._report.signed()
        if certificate:
            self._post(member_events.WeightsCertified(certificate))

    def close(self) -> None:
        """Reports the last result with what is known now."""
        if self._report:
            self._report.tell()
