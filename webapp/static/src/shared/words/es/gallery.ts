import { number } from "../../format";
import type { Catalogue } from "..";

export const gallery: Catalogue["gallery"] = {
  found: (found, all) => `${number(found)} de ${number(all)} tareas`,
};
