"""The tables [try], [licence], [consent], [ethics] and [access]."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from backend.formats.task_file.types import Line, TaskTable

Text = Annotated[str, Meta(max_length=4000)]
# A row by the names of its columns, a text, or numbers: what the form holds at first.
Example = dict[str, str | float] | Text | Annotated[list[float], Meta(max_length=4096)]


class Try(TaskTable, frozen=True):
    """What people show the model, and how its answers are named.

    Without `input` they show what [data.preprocess] says that an example is. `draw` is a digit drawn by hand,
    as the digits data set has them. `names` are titles of a table's columns.
    """

    input: Literal["draw"] | None = None
    labels: list[Line] = field(default_factory=list)
    example: Example | None = None
    names: dict[str, Line] = field(default_factory=dict)


class Licence(TaskTable, frozen=True):
    """Under which terms model and data are published."""

    model: Line | None = None
    data: Line | None = None


class Consent(TaskTable, frozen=True):
    """Why the data may be used: volunteers bring their own, the people in them agreed, their licence
    allows it, they are about nobody, or another reason, which `note` gives.
    """

    basis: Literal["volunteers", "agreed", "licensed", "nobody", "other"] | None = None
    note: Text = ""


class Ethics(TaskTable, frozen=True):
    """What an owner thought of before asking others for help; what is missing was not answered yet.

    `people`: whether the data are about people, who can be recognised or not. `sensitive`: whether they tell
    of health, origin, belief, politics, sexuality or children. `care`: what protects those people.
    `misuse`: how the model could do harm, and what is done about it. `benefit`: who gains by it. `contact`:
    whom to ask.
    """

    people: Literal["none", "anonymous", "recognisable"] | None = None
    sensitive: bool | None = None
    care: Text = ""
    misuse: Text = ""
    benefit: Text = ""
    contact: Line = ""


class AccessTable(TaskTable, frozen=True):
    """Who sees a task and takes part: everybody, who has its address, or who has an invitation or a role."""

    visibility: Literal["public", "unlisted", "invited"] = "public"
