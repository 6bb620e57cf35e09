import { number } from "../formatting";

export const gallery = {
  found: (found: number, all: number) => `${number(found)} of ${number(all)} tasks`,
};
