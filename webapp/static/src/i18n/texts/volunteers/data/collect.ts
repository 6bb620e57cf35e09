import { number } from "../../../formatting";
import { _, ngettext } from "../gettext";

/** Examples that a volunteer collects on the training page; its own module, since few pages need it. */
export const collect = {
  added: (count: number, name: string | null) =>
    name === null
      ? ngettext("%(count)s example was added.", "%(count)s examples were added.", count)
      : ngettext(
          "%(count)s example of %(name)s was added.",
          "%(count)s examples of %(name)s were added.",
          count,
          { name },
        ),
  remove: _("Delete"),
  removeThis: (path: string) => _("Delete %(path)s", { path }),
  nothingDrawn: _("Nothing is drawn yet."),
  nothingTyped: _("Nothing is typed yet."),
  refused: _(
    "The camera is blocked. Allow it for this page in the browser’s settings, beside the address, and turn it on again; or draw, or add files.",
  ),
  missing: _("No camera was found. Connect one and turn it on again; or draw, or add files."),
  broken: _(
    "The camera cannot be used, perhaps because another program has it. Close that and turn it on again; or draw, or add files.",
  ),
  insecure: _("Browsers give a camera only to pages with HTTPS. Draw, or add files."),
  microphone: {
    recording: (count: number) => _("Recording example %(count)s: now.", { count: number(count) }),
    play: _("Play"),
    playThis: (path: string) => _("Play %(path)s", { path }),
    picture: (name: string) => _("Spectrogram of a recording of %(name)s", { name }),
    refused: _(
      "The microphone is blocked. Allow it for this page in the browser’s settings, beside the address, and turn it on again; or add files.",
    ),
    missing: _("No microphone was found. Connect one and turn it on again; or add files."),
    broken: _(
      "The microphone cannot be used, perhaps because another program has it. Close that and turn it on again; or add files.",
    ),
    insecure: _("Browsers give a microphone only to pages with HTTPS. Add files."),
    unreadable: _("This browser cannot read what it recorded. Record with another app, and add the files."),
  },
};
