"""Gives each participant a name that people can remember, such as "turquoise llama"."""

from __future__ import annotations

from backend.translation import gettext, later

# The same in webapp/static/src/i18n/texts/volunteers/participant-names.ts. Spanish has one form of each of
# these colours for both genders.
COLOURS = (
    later("turquoise"),
    later("violet"),
    later("orange"),
    later("pink"),
    later("mauve"),
    later("indigo"),
    later("emerald"),
    later("scarlet"),
    later("sky-blue"),
    later("green"),
    later("blue"),
    later("grey"),
    later("brown"),
    later("khaki"),
    later("lilac"),
    later("coral"),
)
ANIMALS = (
    later("llama"),
    later("alpaca"),
    later("vicuña"),
    later("guanaco"),
    later("condor"),
    later("puma"),
    later("jaguar"),
    later("ocelot"),
    later("tapir"),
    later("sloth"),
    later("armadillo"),
    later("anteater"),
    later("capybara"),
    later("chinchilla"),
    later("viscacha"),
    later("coati"),
    later("toucan"),
    later("macaw"),
    later("hummingbird"),
    later("flamingo"),
    later("heron"),
    later("ibis"),
    later("pelican"),
    later("penguin"),
    later("albatross"),
    later("owl"),
    later("falcon"),
    later("eagle"),
    later("swallow"),
    later("woodpecker"),
    later("iguana"),
    later("gecko"),
    later("chameleon"),
    later("turtle"),
    later("frog"),
    later("salamander"),
    later("dolphin"),
    later("whale"),
    later("seal"),
    later("otter"),
    later("beaver"),
    later("octopus"),
    later("seahorse"),
    later("starfish"),
    later("crab"),
    later("salmon"),
    later("trout"),
    later("bee"),
    later("beetle"),
    later("butterfly"),
    later("dragonfly"),
    later("firefly"),
    later("cricket"),
    later("ant"),
    later("snail"),
    later("hedgehog"),
    later("squirrel"),
    later("badger"),
    later("lynx"),
    later("fox"),
    later("wolf"),
    later("bear"),
    later("deer"),
    later("hare"),
)
_NAME = later("%(colour)s %(animal)s")


def participant_name(client: str) -> str:
    """Returns the name of the client with this id, in the page's language.

    Of 1024 names two clients may have the same one, so pages show the id beside it.
    """
    number = int(client[:4], 16)
    colour, animal = COLOURS[number // len(ANIMALS) % len(COLOURS)], ANIMALS[number % len(ANIMALS)]
    return gettext(_NAME) % {"colour": gettext(colour), "animal": gettext(animal)}
