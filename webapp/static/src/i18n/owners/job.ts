/** Work of the server on a draft. */
export const say = {
  waits: "Waits for its turn.",
  soon: "This begins by itself, as soon as the work before it is done.",
  cancelled: "It was cancelled.",
  outdated: "Something that this depends on was changed: it has to be done again.",
  missing: "This has not been done yet.",
};
