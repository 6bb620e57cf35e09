import { duration, size } from "./figures";

/** A file of the owner's on its way. */
export const say = {
  none: "Nothing is here yet.",
  here: (name: string, bytes: number) => `${name} is here: ${size(bytes)}.`,
  partly: (name: string, offset: number, bytes: number) =>
    `${name} was cut off: ${size(offset)} of ${size(bytes)} are here. Choose the same file to go on from there.`,
  reading: (name: string) => `Reading ${name}, so that it can be checked when it arrives`,
  sending: (name: string) => `${name} is on its way. Stay on this page until it is there.`,
  paused: (name: string) => `${name}: paused. What came is kept.`,
  lost: (name: string) => `${name}: the connection is lost. It goes on by itself once it is back.`,
  cancelled: "The upload was cancelled.",
  other: (name: string, bytes: number) =>
    `This is another file than ${name} (${size(bytes)}), part of which is here. Choose that one to go on, or begin anew with this one.`,
  changed: (name: string) =>
    `${name} is not as it was when part of it was sent: its content differs. Begin anew with it as it is now.`,
  unreadable: (name: string) =>
    `${name} can no longer be read: it was moved, changed or taken away. Choose it again.`,
  folder: "A folder cannot be sent as it is: make a zip of it, and choose that.",
  figures: (bytes: number, all: number, rate: number | null, left: number | null) => {
    const far = `${size(bytes)} of ${size(all)}`;
    const fast = rate === null ? "" : `, ${size(rate)} a second`;
    return `${far}${fast}${left === null ? "" : `, about ${duration(left)} left`}`;
  },
};
