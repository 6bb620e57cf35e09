import { _ } from "./gettext";

export const account = {
  welcome: _("Welcome"),
  back: (name: string) => _("Welcome back, %(name)s", { name }),
  silent: _("The server does not answer. Look at your network, then try again."),
  copied: _("It is copied."),
  noCopy: _("This browser does not let the page copy. It is selected: copy it from there."),
  cut: _(
    "This address is incomplete: an invitation continues after the #. Open the whole address that you received.",
  ),
  noPasskey: _("There was no passkey, or it was not given. Try again, or sign in another way."),
  questionRemove: (name: string) =>
    _("Remove %(name)s with all keys, tokens, roles and drafts? Nobody can bring the account back.", {
      name,
    }),
  odd: (status: number) =>
    _("The server answers %(status)s. Try again in a minute.", { status: String(status) }),
};
