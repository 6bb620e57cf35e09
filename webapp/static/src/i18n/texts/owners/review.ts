/** The look over everything, and the launch. */
import { number } from "../../formatting";
import { STEP_NAMES } from "./checks";
import { _, ngettext } from "./gettext";

export const say = {
  steps: STEP_NAMES,
  nothing: _("Nothing yet."),
  trying: _("The plan is being tried on this server for about a minute, to say what to expect of it."),
  line: (line: number) => _("Line %(line)s", { line: number(line) }),
  silent: _("The server does not answer; try again in a moment."),
  inTest: _("In a private test"),
  isLive: _("Live"),
  testing: _(
    "The private test is on. Send this invitation to those who should try it: they need no account.",
  ),
  live: _("The task is live. Only those with an invitation see it: send this one."),
  invitation: _("Made at the launch"),
  draft: (title: string, name: string) => _("Draft: %(title)s (%(name)s)", { title, name }),
  task: (name: string) => _("Task: %(name)s", { name }),
  differences: (count: number) =>
    count === 0 ? _("Nothing differs.") : ngettext("One thing differs.", "%(count)s things differ.", count),
};
