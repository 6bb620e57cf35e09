/** What scripts say to volunteers, in the language of the page; `texts/owners` has the rest. */

export * as say from "./texts/volunteers";
