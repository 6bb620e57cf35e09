import { decimal, number } from "../../formatting";
import { _, ngettext } from "./gettext";

/** Who sees an update, and what the volunteer may ask for. */
export const masked = {
  nothing: (reason: string) => _("This round contains nothing from you. %(reason)s", { reason }),
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
    _("Masked among %(members)s: the server now reads their sum. Your own update stays hidden.", {
      members: number(members),
    }),
  among: (members: number) =>
    _("Masked among %(members)s: your own update looks random to the server. It can read only their sum.", {
      members: number(members),
    }),
  serverSays: _(
    "The server says who the others are. If it invented them, it could read your update: take part only if you trust its operator that far.",
  ),
  metNone: _(
    "You meet all the others for the first time: only the server vouches for them. From now on your device recognizes them.",
  ),
  metAll: _("You have met all the others before, and their identities are unchanged."),
  metSome: (met: number, others: number) =>
    _(
      "You have met %(met)s of the %(others)s others before, and their identities are unchanged. Only the server vouches for the rest.",
      { met: number(met), others: number(others) },
    ),
  openBars: _("This task adds updates up in the open. To join it empty this field, or choose another task."),
  open: _("This task adds updates up in the open, so leave it empty here."),
  tooMany: (least: number, asked: number) =>
    _(
      "This task masks among at least %(least)s and cannot promise %(asked)s. To join it, enter %(least)s or fewer, or choose another task.",
      { least: number(least), asked: number(asked) },
    ),
  empty: (least: number) =>
    _("If empty, the task’s own number applies: %(least)s.", { least: number(least) }),
  leaves: _("You take part only in masked rounds, and leave one that becomes smaller than this."),
  noise: {
    none: _("In this task your device adds no noise."),
    offered: (noise: number) =>
      _("In this task your device adds noise of at least %(noise)s, where 1 is the longest update allowed.", {
        noise: decimal(noise),
      }),
    bars: _("To join it, enter less, or choose another task."),
  },
};
