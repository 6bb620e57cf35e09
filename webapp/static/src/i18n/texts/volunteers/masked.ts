import { decimal, number } from "../../formatting";
import { _, ngettext } from "./gettext";

/** Who sees an update, and what the volunteer may ask for. */
export const masked = {
  nothing: (reason: string) => _("Nothing of you goes into this round. %(reason)s", { reason }),
  without: _("This round continues without you."),
  /** `members` counts this device as well; 0 before they are known. */
  exchanging: (members: number) =>
    members > 0
      ? ngettext(
          "Exchanging keys with %(count)s other participant, so that nobody sees your update alone.",
          "Exchanging keys with %(count)s other participants, so that nobody sees your update alone.",
          members - 1,
        )
      : _("Exchanging keys with the others, so that nobody sees your update alone."),
  adding: (members: number) =>
    _("Masked among %(members)s: the server reads the sum of all now. Your own update stays unseen.", {
      members: number(members),
    }),
  among: (members: number) =>
    _(
      "Masked among %(members)s: of you alone the server gets numbers that look random. It can read the sum of all, and nothing less.",
      { members: number(members) },
    ),
  serverSays: _(
    "The server says who the others are. If it made them up, it could read your update: take part if you trust who runs it that far.",
  ),
  metNone: _(
    "You meet all the others for the first time: that they are there, only the server says. From now on you know them again.",
  ),
  metAll: _("You have met all the others before, and they are who they were."),
  metSome: (met: number, others: number) =>
    _(
      "You have met %(met)s of the %(others)s others before, and they are who they were. For the rest there is only the server’s word.",
      { met: number(met), others: number(others) },
    ),
  openBars: _("This task adds updates up in the open. To join it empty this field, or choose another task."),
  open: _("This task adds updates up in the open, so leave it empty here."),
  tooMany: (least: number, asked: number) =>
    _(
      "This task masks among %(least)s at least and cannot promise %(asked)s. To join it ask for %(least)s or fewer, or choose another task.",
      { least: number(least), asked: number(asked) },
    ),
  empty: (least: number) =>
    _("Empty means: what the task asks for, which is %(least)s.", { least: number(least) }),
  leaves: _("You take part in masked rounds only, and leave one that becomes smaller than that."),
  noise: {
    none: _("In this task your device adds no noise."),
    offered: (noise: number) =>
      _(
        "In this task your device itself adds noise of %(noise)s at least, where 1 is the length that an update may have.",
        { noise: decimal(noise) },
      ),
    bars: _("To join it ask for less, or choose another task."),
  },
};
