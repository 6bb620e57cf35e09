import { counted, number } from "../formatting";

/** Examples that come from another place than the server. */
export const url = {
  fetching: (here: string, all: string) => `Fetching the examples: ${here} of ${all}`,
  reading: "The files are here. Reading them.",
  here: (train: number, held: number) =>
    `${counted(train + held, "example is", "examples are")} here: ${number(train)} to learn from, ${number(held)} kept aside to measure on.`,
  cancelled: "Not fetched. Press Start training to begin again.",
  closed: (host: string) =>
    `This page cannot read from ${host}. Either it is away, or it sends on to another address, or it does not let pages of other sites read its files (CORS). Try again later; if it stays so, tell the task’s owner.`,
  missing: (file: string, host: string, status: number) =>
    `${host} has no ${file} for everybody: it answers ${status}. Tell the task’s owner.`,
  otherFile: (file: string, host: string) =>
    `${file} at ${host} is another file than the task’s owner meant: its SHA-256 differs. It was not used. Tell the task’s owner.`,
  tooLong: (file: string, host: string) =>
    `${file} at ${host} is longer than the task says, and was not read on. Tell the task’s owner.`,
  tooShort: (file: string, host: string) =>
    `${file} from ${host} ended early. Try again; if it happens again, tell the task’s owner.`,
  slow: (host: string) => `Nothing came from ${host} for a minute. Try again when the connection is better.`,
  local: (host: string) =>
    `The task names ${host}, an address of a local network. Nothing is fetched from there. Tell the task’s owner.`,
  broken: (where: string, text: string) =>
    `The examples cannot all be read in this browser: ${where}: ${text} Another browser, or a peer, may be able to.`,
  otherCount: (train: number, held: number, wantedTrain: number, wantedHeld: number) =>
    `The files hold ${number(train)} examples to learn from and ${number(held)} kept aside; the task says ${number(wantedTrain)} and ${number(wantedHeld)}. Tell the task’s owner.`,
};
