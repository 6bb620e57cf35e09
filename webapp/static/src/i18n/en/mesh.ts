import { counted, number, percent } from "../formatting";
import { figures } from "./figures";

const directLinks = (count: number) =>
  `${counted(count, "direct link")} to others ${count === 1 ? "stands" : "stand"}`;

/** What a device does in a mesh, and its links. */
export const mesh = {
  lookingForServer: "Looking for the server, which introduces the others.",
  trained: "Trained: waiting for a group",
  serverSays: (round: string) => `${round}. The server says soon with whom you average.`,
  leaderSays: (round: string) => `${round}. The peer that leads it says soon with whom you average.`,
  averagedIn: (rounds: number) => `Your device averaged in ${counted(rounds, "round")}.`,
  away: "Server away: trying again",
  awayIn: (seconds: string) => `Server away: trying again in ${seconds}`,
  awayNow: "Server away: trying again now",
  goesOn: "Nothing is lost: this goes on by itself.",
  groupGoesOn: (links: number) => `Your group goes on without it: ${directLinks(links)}.`,
  trainsOn: "Your device trains on meanwhile.",
  peersGoOn: (others: number) =>
    `The peers go on without it as soon as more than half of those of the last round are here: ${counted(others, "other is", "others are")}.`,
  linksStand: (links: number) => `Nothing is lost: ${directLinks(links)}, and this goes on by itself.`,
  yourDevice: "Your device",
  participant: (name: string) => `Participant ${name}`,
  measured: (who: string, round: number, loss: number, examples: number) =>
    `${who} measured the weights of round ${number(round)}: loss ${figures.loss(loss)} on ${counted(examples, "example")}.`,
  withoutYou: (round: number) => `Round ${number(round)} is open without you.`,
  noResult: (reason: string) => `No result in the last group: ${reason}`,
  sameWeights: (round: number, others: number) =>
    `Round ${number(round)}: you and ${counted(others, "other")} have the same new weights.`,
  sameWeightsOf: (round: number, others: number, fraction: number) =>
    `Round ${number(round)}: you and ${counted(others, "other")} have the same new weights, with ${percent(fraction)} of what all trained on.`,
  withoutServer: (round: string) => `${round}, without the server`,
  fetching: "Training: fetching weights and examples",
  averaging: (others: number) => `Averaging with ${counted(others, "other")}`,
  deviceToDevice: "Everybody’s changes go from device to device; the server sees none of them.",
  sealed: (others: number) =>
    `With ${counted(others, "other")} through the server, sealed: it can read nothing of it.`,
  how: { webrtc: "directly", websocket: "directly", relay: "through the server, sealed" },
  upTo: (speed: string) => `up to ${speed}`,
  noLink: "no link yet",
  linked: (links: number, others: number) => `Linked with ${number(links)} of ${counted(others, "other")}.`,
  /** Of the links, so many are `relayed`: at least one. */
  linkedThrough: (links: number, others: number, relayed: number) => {
    let which = `${number(relayed)} of them `;
    if (relayed === links) which = links === 1 ? "" : "all ";
    else if (relayed === 1) which = "one of them ";
    return `Linked with ${number(links)} of ${counted(others, "other")}, ${which}through the server, sealed.`;
  },
  strangers: (count: number) =>
    `${counted(count, "participant")} came with another identity than before and ${count === 1 ? "gets" : "get"} no link.`,
  startToSee: "Start to see who is here.",
  othersLeft: "The others have left.",
  nobodyElse: "Nobody else is here yet.",
};
