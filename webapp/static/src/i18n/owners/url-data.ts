/** The address from which volunteers' devices fetch a task's data. */
export const say = {
  wrong: "Write an address that begins with https:// and ends in the file’s name.",
  bring:
    "Bring the same file below, once: then it can be tried here whether browsers can have it from there.",
  untried: "Not tried yet. Trying fetches the file into this browser, as volunteers’ browsers will.",
  trying: (here: string, all: string) => `Fetching the file: ${here} of ${all}`,
  good: (host: string) => `This browser had the very file from ${host}; volunteers’ browsers can, too.`,
  bad: (sentence: string) => `Volunteers would be told: ${sentence}`,
};
