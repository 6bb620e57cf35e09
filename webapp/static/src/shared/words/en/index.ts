/** English, the fallback. */

import { account } from "./account";
import { card } from "./card";
import { curves } from "./curves";
import { figures } from "./figures";
import { files } from "./files";
import { gallery } from "./gallery";
import { invite } from "./invite";
import { manage } from "./manage";
import { masked } from "./masked";
import { mesh } from "./mesh";
import { mistakes } from "./mistakes";
import { own } from "./own";
import { people } from "./people";
import { round } from "./round";
import { trial } from "./trial";
import { units } from "./units";
import { url } from "./url";

export const en = {
  account,
  card,
  curves,
  figures,
  files,
  gallery,
  invite,
  manage,
  masked,
  mesh,
  mistakes,
  own,
  people,
  round,
  trial,
  units,
  url,
};
