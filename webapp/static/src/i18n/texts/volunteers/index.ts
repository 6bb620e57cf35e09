/** Sentences for volunteers, by the part of a page that says them. */

export { account } from "./account";
export { card } from "./card";
export { curves } from "./curves";
export { own } from "./data/local-data";
export { url } from "./data/url-data";
export { devices } from "./devices";
export { figures } from "./figures";
export { files } from "./files";
export { gallery } from "./gallery";
export { invite } from "./invite";
export { masked } from "./masked";
export { membership } from "./mesh/membership";
export { mesh } from "./mesh/mesh";
export { message, problem } from "./messages/message";
export { refusal } from "./messages/refusals";
export { uncounted } from "./messages/uncounted";
export { mistakes } from "./mistakes";
export { people } from "./people";
export { trial } from "./playground";
export { round } from "./round";
export { units } from "./units";
export { workers } from "./workers";
