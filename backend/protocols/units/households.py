"""Draws the clients that repeat a unit: each household with the same chance, however many clients it has."""

from __future__ import annotations

from collections.abc import Callable

from backend.protocols.units.scheduler_effects import ClientId

# Draws before the search looks at all clients, one after the other.
DRAWS = 16


_MASK = (1 << 64) - 1


class Dice:
    """Numbers that follow from a secret `chance` in [0, 1): SplitMix64 (Steele, Lea, Flood 2014)."""

    def __init__(self, chance: float, number: int = 0) -> None:
        self._state = (int(chance * 2**53) * 2**11 + number) & _MASK

    def below(self, limit: int) -> int:
        """Returns a number from 0 to `limit` - 1."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return (mixed ^ (mixed >> 31)) % limit


class _Drawable:
    """An ordered set from which one element can be drawn in constant time."""

    def __init__(self) -> None:
        self._items: list[str] = []
        self._place: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: str) -> None:
        """Adds an item that may be here already."""
        if item not in self._place:
            self._place[item] = len(self._items)
            self._items.append(item)

    def discard(self, item: str) -> None:
        """Removes an item; the last one takes its place."""
        if (place := self._place.pop(item, None)) is None:
            return
        last = self._items.pop()
        if last != item:
            self._items[place], self._place[last] = last, place

    def draw(self, dice: Dice) -> str:
        """Returns one item."""
        return self._items[dice.below(len(self._items))]

    def all(self) -> list[str]:
        """Returns all items."""
        return list(self._items)


class HouseholdLottery:
    """Holds clients by household. The draw does not depend on which client asks first."""

    def __init__(self) -> None:
        self._households = _Drawable()
        self._members: dict[str, _Drawable] = {}

    def is_only(self, client: ClientId) -> bool:
        """Whether no other client is here."""
        if len(self._members) > 1:
            return False
        return all(len(members) == 1 and members.all() == [client] for members in self._members.values())

    def add(self, household: str, client: ClientId) -> None:
        """Adds a client that may be here already."""
        self._households.add(household)
        self._members.setdefault(household, _Drawable()).add(client)

    def discard(self, household: str, client: ClientId) -> None:
        """Removes a client, if it is here."""
        if (members := self._members.get(household)) is None:
            return
        members.discard(client)
        if not len(members):
            del self._members[household]
            self._households.discard(household)

    def draw(self, dice: Dice, may: Callable[[ClientId], bool]) -> ClientId | None:
        """Returns a client that `may` be drawn; None if there is none."""
        if not len(self._households):
            return None
        for _ in range(DRAWS):
            client = self._members[self._households.draw(dice)].draw(dice)
            if may(client):
                return client
        left = [client for one in self._households.all() for client in self._members[one].all()]
        found = list(filter(may, left))
        return found[dice.below(len(found))] if found else None
