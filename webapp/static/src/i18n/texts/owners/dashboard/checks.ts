import { decimal, number } from "../../../formatting";
import { _ } from "../gettext";

interface CheckedVersion {
  readonly version: number;
  readonly outcome: string;
  readonly accepted: number | null;
}

const OUTCOMES: Readonly<Record<string, string>> = {
  passed: _("no sign of a backdoor"),
  failed: _("signs of a backdoor"),
  undecided: _("not good enough yet to be checked"),
  unmeasured: _("could not be checked"),
};
const PARTS: Readonly<Record<string, string>> = {
  trigger: _("Smallest trigger"),
  drift: _("Change of a class"),
  updates: _("Minority of the updates"),
  check: _("Check"),
};

/** What stands in the owner's list of checked versions. */
export const say = {
  none: "–",
  waits: _("waits for its check"),
  version: (version: number) => number(version),
  offered: (version: number) =>
    version === 0
      ? _(
          "Version 0, your own model, is offered for trying and downloading until a later one passes its check.",
        )
      : _(
          "Version %(version)s is offered for trying and downloading: the newest that passed its check or was accepted.",
          { version: number(version) },
        ),
  title: ({ version, outcome }: CheckedVersion) =>
    outcome === "failed"
      ? _("Version %(version)s shows signs of a backdoor", { version: number(version) })
      : _("Version %(version)s could not be checked", { version: number(version) }),
  back: (version: number) => _("Go back to version %(version)s", { version: number(version) }),
  accept: (version: number) => _("Accept version %(version)s", { version: number(version) }),
  outcome: ({ outcome, accepted }: CheckedVersion) =>
    accepted === null ? (OUTCOMES[outcome] ?? outcome) : _("accepted by you or another owner"),
  score: (score: number | null) => (score === null ? "–" : decimal(score)),
  part: (name: string, score: number | null, reason: string) =>
    _("%(part)s, %(score)s: %(reason)s", {
      part: PARTS[name] ?? name,
      score: score === null ? _("not measured") : decimal(score),
      reason,
    }),
};
