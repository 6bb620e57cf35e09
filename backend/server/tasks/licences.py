"""Lists common licences of models and data by their SPDX names, with a plain summary of each."""

from __future__ import annotations

from dataclasses import dataclass

from backend.translation import later


@dataclass(frozen=True)
class KnownLicence:
    """A licence: its title, and a sentence on what it permits."""

    title: str
    words: str


_CC0 = KnownLicence("CC0 1.0", later("Anyone may use it for anything, without crediting you."))
_CC_BY = KnownLicence(
    "Creative Commons Attribution 4.0", later("Anyone may use and change it if they credit you.")
)
_CC_BY_SA = KnownLicence(
    "Creative Commons Attribution-ShareAlike 4.0",
    later("Anyone may use and change it if they credit you and share derived work under the same terms."),
)
_CC_BY_NC = KnownLicence(
    "Creative Commons Attribution-NonCommercial 4.0",
    later("Anyone may use and change it if they credit you, but not commercially."),
)

MODELS: dict[str, KnownLicence] = {
    "Apache-2.0": KnownLicence(
        "Apache License 2.0",
        later("Anyone may use, change and sell it if they keep your notice. It includes a patent licence."),
    ),
    "MIT": KnownLicence("MIT License", later("Anyone may use, change and sell it if they keep your notice.")),
    "BSD-3-Clause": KnownLicence(
        "BSD 3-Clause License",
        later(
            "Anyone may use, change and sell it if they keep your notice and do not advertise with your name."
        ),
    ),
    "CC0-1.0": _CC0,
    "CC-BY-4.0": _CC_BY,
    "CC-BY-SA-4.0": _CC_BY_SA,
    "CC-BY-NC-4.0": _CC_BY_NC,
    "GPL-3.0-or-later": KnownLicence(
        "GNU General Public License 3",
        later("Anyone may use and change it, and must pass it on under the same terms."),
    ),
    "AGPL-3.0-or-later": KnownLicence(
        "GNU Affero General Public License 3",
        later("Like the GPL; offering it over a network counts as passing it on."),
    ),
}
DATA: dict[str, KnownLicence] = {
    "CC0-1.0": _CC0,
    "CC-BY-4.0": _CC_BY,
    "CC-BY-SA-4.0": _CC_BY_SA,
    "CC-BY-NC-4.0": _CC_BY_NC,
    "CC-BY-NC-SA-4.0": KnownLicence(
        "Creative Commons Attribution-NonCommercial-ShareAlike 4.0",
        later("Like the one before, and derived work must be shared under the same terms."),
    ),
    "ODC-By-1.0": KnownLicence(
        "Open Data Commons Attribution 1.0",
        later("Anyone may use the collection if they name its source."),
    ),
    "ODbL-1.0": KnownLicence(
        "Open Database License 1.0",
        later("Anyone may use the collection if they name its source and share what they add to it."),
    ),
    "PDDL-1.0": KnownLicence(
        "Public Domain Dedication and License 1.0", later("The collection is in the public domain.")
    ),
    "CDLA-Permissive-2.0": KnownLicence(
        "Community Data License Agreement, Permissive 2.0",
        later("Anyone may use the data if they pass this text on with them; computed results are free."),
    ),
    "with each volunteer": KnownLicence(
        later("With each volunteer"),
        later("People bring their own data and keep all rights to them."),
    ),
}
