"""Lists common licences of models and data by their SPDX names, with a plain summary of each."""

from __future__ import annotations

from dataclasses import dataclass

from backend.translation import later


@dataclass(frozen=True)
class KnownLicence:
    """A licence: its title, and a sentence on what it permits."""

    title: str
    words: str


_CC0 = KnownLicence("CC0 1.0", later("Everybody may use it for everything, without naming you."))
_CC_BY = KnownLicence(
    "Creative Commons Attribution 4.0", later("Everybody may use and change it, and names you.")
)
_CC_BY_SA = KnownLicence(
    "Creative Commons Attribution-ShareAlike 4.0",
    later(
        "Everybody may use and change it, names you, and gives what they make of it away under the same "
        "terms."
    ),
)
_CC_BY_NC = KnownLicence(
    "Creative Commons Attribution-NonCommercial 4.0",
    later("Everybody may use and change it and names you, but not to earn money."),
)

MODELS: dict[str, KnownLicence] = {
    "Apache-2.0": KnownLicence(
        "Apache License 2.0",
        later(
            "Everybody may use, change and sell it, keeps your notice, and gets your patents' licence, too."
        ),
    ),
    "MIT": KnownLicence(
        "MIT License", later("Everybody may use, change and sell it, and keeps your notice.")
    ),
    "BSD-3-Clause": KnownLicence(
        "BSD 3-Clause License",
        later(
            "Everybody may use, change and sell it, keeps your notice, and does not advertise with your name."
        ),
    ),
    "CC0-1.0": _CC0,
    "CC-BY-4.0": _CC_BY,
    "CC-BY-SA-4.0": _CC_BY_SA,
    "CC-BY-NC-4.0": _CC_BY_NC,
    "GPL-3.0-or-later": KnownLicence(
        "GNU General Public License 3",
        later("Everybody may use and change it; who passes it on does so under the same terms."),
    ),
    "AGPL-3.0-or-later": KnownLicence(
        "GNU Affero General Public License 3",
        later("As the GPL; who offers it over a network passes it on, too."),
    ),
}
DATA: dict[str, KnownLicence] = {
    "CC0-1.0": _CC0,
    "CC-BY-4.0": _CC_BY,
    "CC-BY-SA-4.0": _CC_BY_SA,
    "CC-BY-NC-4.0": _CC_BY_NC,
    "CC-BY-NC-SA-4.0": KnownLicence(
        "Creative Commons Attribution-NonCommercial-ShareAlike 4.0",
        later("As the one before, and what is made of it goes on under the same terms."),
    ),
    "ODC-By-1.0": KnownLicence(
        "Open Data Commons Attribution 1.0",
        later("Everybody may use the collection, and names where it is from."),
    ),
    "ODbL-1.0": KnownLicence(
        "Open Database License 1.0",
        later("Everybody may use the collection, names where it is from, and shares what they add to it."),
    ),
    "PDDL-1.0": KnownLicence(
        "Public Domain Dedication and License 1.0", later("The collection belongs to everybody.")
    ),
    "CDLA-Permissive-2.0": KnownLicence(
        "Community Data License Agreement, Permissive 2.0",
        later("Everybody may use the data and passes this text on with them; results of computing are free."),
    ),
    "with each volunteer": KnownLicence(
        later("With each volunteer"),
        later("People bring data of their own, keep them, and keep all rights to them."),
    ),
}
