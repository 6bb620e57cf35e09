import type { Catalogue } from "..";
import { number } from "../formatting";

export const gallery: Catalogue["gallery"] = {
  found: (found, all) => `${number(found)} de ${number(all)} tareas`,
};
