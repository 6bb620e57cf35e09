"""Negotiates the aggregation: chooses how a client's updates are summed, and its household."""

from __future__ import annotations

from collections.abc import Sequence

from backend.errors import UnfitError
from backend.formats.task_file import Security, TaskFile
from backend.server.hosting.clients.client_link import ClientLink
from backend.server.hosting.clients.client_network import client_network, is_many_people
from backend.wire.masked_messages import Aggregation


def negotiate(security: Security, offered: Sequence[Aggregation], min_masked: int) -> Aggregation:
    """Returns the first aggregation of the task that the client offers, and that has enough clients for it.

    Raises UnfitError with a sentence that says what would work.
    """
    for aggregation in security.aggregation:
        enough = aggregation == "open" or min_masked <= security.masked.min_clients
        if aggregation in offered and enough:
            return aggregation
    raise UnfitError(_sentence(security, offered, min_masked))


def _sentence(security: Security, offered: Sequence[Aggregation], min_masked: int) -> str:
    if not security.masks:
        return (
            "This task takes unmasked updates, and you require masking. "
            "Allow open updates, or choose another task."
        )
    least = security.masked.min_clients
    if "masked" in offered:
        return (
            f"This task masks an update among {least} clients at least, and you ask for {min_masked}. "
            f"Ask for {least} or fewer, or choose another task."
        )
    return (
        f"This task takes masked updates only, among {least} clients at least, and your program does not "
        f"offer masking. Use a newer one, or allow masking."
    )


def seated_household(file: TaskFile, link: ClientLink) -> str:
    """Returns the household whose seats in masked cohorts a client takes; "" for none.

    Where all clients are invited it is the account or invitation, elsewhere the network. Clients in networks
    that the owner named as shared, and in the server's own, have none.
    """
    if is_many_people(link, file.security.masked.shared_networks):
        return ""
    invited = link.identity if file.access.by_invitation else ""
    return invited or client_network(link)
