import { number } from "../../format";

export const gallery = {
  found: (found: number, all: number) => `${number(found)} of ${number(all)} tasks`,
};
