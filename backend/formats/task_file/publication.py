"""Defines the tables [try], [licence], [consent], [ethics] and [access]."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from backend.formats.task_file.types import Line, TaskTable

Text = Annotated[str, Meta(max_length=4000)]
# Initial content of the form: a row by column names, a text, or numbers.
Example = dict[str, str | float] | Text | Annotated[list[float], Meta(max_length=4096)]


class Try(TaskTable, frozen=True):
    """Configures the playground: the input that people give the model, and the names of its answers.

    Without `input` it is an example as [data.preprocess] describes it. `draw` is a digit drawn by hand, like
    those of the digits data set. `names` are titles of a table's columns.
    """

    input: Literal["draw"] | None = None
    labels: list[Line] = field(default_factory=list)
    example: Example | None = None
    names: dict[str, Line] = field(default_factory=dict)


class Licence(TaskTable, frozen=True):
    """Licences of the published model and data."""

    model: Line | None = None
    data: Line | None = None


class Consent(TaskTable, frozen=True):
    """Why the data may be used.

    `volunteers`: volunteers bring their own data. `agreed`: the people in the data agreed. `licensed`: the
    data's licence allows it. `nobody`: the data are about no person. `other`: the reason in `note`.
    """

    basis: Literal["volunteers", "agreed", "licensed", "nobody", "other"] | None = None
    note: Text = ""


class Ethics(TaskTable, frozen=True):
    """The owner's ethics statement; a missing value is an unanswered question.

    `people`: whether the data are about people, and whether they can be recognised. `sensitive`: whether the
    data concern health, origin, belief, politics, sexuality or children. `care`: what protects those people.
    `misuse`: how the model could do harm, and what is done about it. `benefit`: who gains from the model.
    `contact`: the person to ask. `owner`: the name by which the person or group that runs the task is shown.
    """

    people: Literal["none", "anonymous", "recognisable"] | None = None
    sensitive: bool | None = None
    care: Text = ""
    misuse: Text = ""
    benefit: Text = ""
    contact: Line = ""
    owner: Line = ""


class ProbationTable(TaskTable, frozen=True):
    """Updates of a newcomer are checked in `rounds` rounds before they count.

    Newcomers are at most `share` of a round's clients, but one may always be among them.
    """

    rounds: Annotated[int, Meta(ge=1, le=100)] = 3
    share: Annotated[float, Meta(gt=0, le=0.5)] = 0.25


class WorkTable(TaskTable, frozen=True):
    """A newcomer proves about 2 ** `bits` hashes (SHA-256) before it joins."""

    bits: Annotated[int, Meta(ge=10, le=23)] = 21


class AccessTable(TaskTable, frozen=True):
    """Who may see and join a task, and what newcomers have to do first.

    `visibility`: `public`: everyone. `unlisted`: people with its address. `invited`: people with an
    invitation or a role. `newcomers`: `open`: nothing. `probation`: their updates are checked and do not
    count at first. `work`: their devices prove work before they join. `invited`: they need an invitation or a
    role, as if the task were visible to those alone.
    """

    visibility: Literal["public", "unlisted", "invited"] = "public"
    newcomers: Literal["open", "probation", "work", "invited"] = "open"
    probation: ProbationTable = ProbationTable()
    work: WorkTable = WorkTable()

    @property
    def by_invitation(self) -> bool:
        """Whether all clients have an invitation or a role."""
        return "invited" in (self.visibility, self.newcomers)

    @property
    def probation_rounds(self) -> int:
        """In how many rounds a newcomer's updates are checked before they count; 0 if they count at once."""
        return self.probation.rounds if self.newcomers == "probation" else 0
