import { number, percent } from "../../../formatting";
import { figures } from "../figures";
import { _, ngettext } from "../gettext";

const directLinks = (count: number) =>
  ngettext("%(count)s direct link to others stands", "%(count)s direct links to others stand", count);

/** What a device does in a mesh, and its links. */
export const mesh = {
  lookingForServer: _("Looking for the server, which introduces peers."),
  trained: _("Trained: waiting for a group"),
  serverSays: (round: string) => _("%(round)s. The server will assign your group soon.", { round }),
  leaderSays: (round: string) =>
    _("%(round)s. The peer that leads the round will assign your group soon.", { round }),
  averagedIn: (rounds: number) =>
    ngettext("Your device averaged in %(count)s round.", "Your device averaged in %(count)s rounds.", rounds),
  away: _("Server away: trying again"),
  awayIn: (seconds: string) => _("Server away: trying again in %(seconds)s", { seconds }),
  awayNow: _("Server away: trying again now"),
  goesOn: _("Nothing is lost: training continues by itself."),
  groupGoesOn: (links: number) =>
    _("Your group continues without it: %(links)s.", { links: directLinks(links) }),
  trainsOn: _("Your device trains on meanwhile."),
  peersGoOn: (others: number) =>
    ngettext(
      "The peers continue without it once more than half of those of the last round are here: %(count)s other is.",
      "The peers continue without it once more than half of those of the last round are here: %(count)s others are.",
      others,
    ),
  linksStand: (links: number) =>
    _("Nothing is lost: %(links)s, and training continues by itself.", { links: directLinks(links) }),
  yourDevice: _("Your device"),
  participant: (name: string) => _("Participant %(name)s", { name }),
  measured: (who: string, round: number, loss: number, examples: number) =>
    ngettext(
      "%(who)s measured the weights of round %(round)s: loss %(loss)s on %(count)s example.",
      "%(who)s measured the weights of round %(round)s: loss %(loss)s on %(count)s examples.",
      examples,
      { who, round: number(round), loss: figures.loss(loss) },
    ),
  withoutYou: (round: number) => _("Round %(round)s is open without you.", { round: number(round) }),
  noResult: (reason: string) => _("No result in the last group: %(reason)s", { reason }),
  sameWeights: (round: number, others: number) =>
    ngettext(
      "Round %(round)s: you and %(count)s other have the same new weights.",
      "Round %(round)s: you and %(count)s others have the same new weights.",
      others,
      { round: number(round) },
    ),
  sameWeightsOf: (round: number, others: number, fraction: number) =>
    ngettext(
      "Round %(round)s: you and %(count)s other have the same new weights, with %(fraction)s of what all trained on.",
      "Round %(round)s: you and %(count)s others have the same new weights, with %(fraction)s of what all trained on.",
      others,
      { round: number(round), fraction: percent(fraction) },
    ),
  withoutServer: (round: string) => _("%(round)s, without the server", { round }),
  fetching: _("Training: fetching weights and examples"),
  averaging: (others: number) =>
    ngettext("Averaging with %(count)s other", "Averaging with %(count)s others", others),
  deviceToDevice: _("Updates go from device to device; the server sees none of them."),
  sealed: (others: number) =>
    ngettext(
      "With %(count)s other through the server, sealed so that it cannot read them.",
      "With %(count)s others through the server, sealed so that it cannot read them.",
      others,
    ),
  how: { webrtc: _("directly"), websocket: _("directly"), relay: _("through the server, sealed") },
  upTo: (speed: string) => _("up to %(speed)s", { speed }),
  noLink: _("no link yet"),
  linked: (links: number, others: number) =>
    ngettext(
      "Linked with %(links)s of %(count)s other.",
      "Linked with %(links)s of %(count)s others.",
      others,
      { links: number(links) },
    ),
  /** Of the links, so many are `relayed`: at least one. */
  linkedThrough: (links: number, others: number, relayed: number): string => {
    let how = ngettext(
      "one of them through the server, sealed",
      "%(count)s of them through the server, sealed",
      relayed,
    );
    if (relayed === links) how = links === 1 ? mesh.how.relay : _("all through the server, sealed");
    return ngettext(
      "Linked with %(links)s of %(count)s other, %(how)s.",
      "Linked with %(links)s of %(count)s others, %(how)s.",
      others,
      { links: number(links), how },
    );
  },
  strangers: (count: number) =>
    ngettext(
      "%(count)s participant changed its identity and gets no link.",
      "%(count)s participants changed their identity and get no link.",
      count,
    ),
  startToSee: _("Start to see who is here."),
  othersLeft: _("The others have left."),
  nobodyElse: _("Nobody else is here yet."),
};
