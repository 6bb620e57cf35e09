import { _, ngettext } from "./gettext";

export const people = {
  you: _("You"),
  yourself: (name: string) => _("You, %(name)s", { name }),
  browser: _("Browser"),
  peer: _("Peer"),
  doing: {
    loading: _("getting ready"),
    ready: _("ready"),
    training: _("training"),
    evaluating: _("measuring"),
    reported: _("update is in"),
    refused: _("update refused"),
  },
  updates: (count: number) => ngettext("%(count)s update", "%(count)s updates", count),
};
