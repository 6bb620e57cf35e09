import { _ } from "./gettext";

/** What stands around each step of a draft. */
export const say = {
  saving: _("Saving"),
  saved: _("Saved"),
  savedBut: (what: string) => _("Saved. %(what)s", { what }),
  notSaved: (why: string) => _("Not saved: %(why)s", { why }),
  later: _("The server does not answer. What you wrote is kept here and saved as soon as it does."),
  states: {
    done: _("done"),
    todo: _("to do"),
    running: _("under way"),
    failed: _("needs you"),
    free: _("nothing has to be done"),
  },
  forget: (title: string) =>
    _("Delete the draft “%(title)s” with its files? This cannot be taken back.", { title }),
  lost: _("The connection is lost; this continues when it is back."),
};
