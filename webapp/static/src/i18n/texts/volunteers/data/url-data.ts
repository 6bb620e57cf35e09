import { number } from "../../../formatting";
import { _, ngettext } from "../gettext";

/** Examples that come from another place than the server. */
export const url = {
  fetching: (here: string, all: string) => _("Fetching the examples: %(here)s of %(all)s", { here, all }),
  reading: _("The files are here. Reading them."),
  here: (train: number, held: number) =>
    ngettext(
      "%(count)s example is here: %(train)s to learn from, %(held)s kept aside to measure on.",
      "%(count)s examples are here: %(train)s to learn from, %(held)s kept aside to measure on.",
      train + held,
      { train: number(train), held: number(held) },
    ),
  cancelled: _("Not fetched. Press Start training to begin again."),
  closed: (host: string) =>
    _(
      "This page cannot read from %(host)s: it is offline, redirects to another address, or does not allow other sites to read its files (CORS). Try again later; if that does not help, tell the task’s owner.",
      { host },
    ),
  missing: (file: string, host: string, status: number) =>
    _("%(host)s does not give %(file)s to everyone: it answers %(status)s. Tell the task’s owner.", {
      host,
      file,
      status: String(status),
    }),
  otherFile: (file: string, host: string) =>
    _(
      "%(file)s at %(host)s is not the file that the task’s owner chose: its SHA-256 differs. It was not used. Tell the task’s owner.",
      { file, host },
    ),
  tooLong: (file: string, host: string) =>
    _("%(file)s at %(host)s is longer than the task says, so reading stopped. Tell the task’s owner.", {
      file,
      host,
    }),
  tooShort: (file: string, host: string) =>
    _("%(file)s from %(host)s ended early. Try again; if it happens again, tell the task’s owner.", {
      file,
      host,
    }),
  slow: (host: string) =>
    _("Nothing arrived from %(host)s for a minute. Try again when the connection is better.", { host }),
  local: (host: string) =>
    _(
      "The task names %(host)s, an address of a local network. Nothing is fetched from there. Tell the task’s owner.",
      { host },
    ),
  broken: (where: string, text: string) =>
    _(
      "The examples cannot all be read in this browser: %(where)s: %(text)s Another browser, or a peer, may be able to.",
      { where, text },
    ),
  otherCount: (train: number, held: number, wantedTrain: number, wantedHeld: number) =>
    _(
      "The files contain %(train)s examples to learn from and %(held)s held out; the task says %(wantedTrain)s and %(wantedHeld)s. Tell the task’s owner.",
      {
        train: number(train),
        held: number(held),
        wantedTrain: number(wantedTrain),
        wantedHeld: number(wantedHeld),
      },
    ),
};
