import {
  type FilledMessage,
  isNames,
  type MessageValue,
  messageOf,
  type UserMessage,
} from "../../../../core/user-messages";
import { number } from "../../../formatting";
import { translator } from "../gettext";
import { listed } from "../lists";

function shown(value: MessageValue): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return number(value);
  return isNames(value) ? listed(value) : filled(value);
}

function filled({ english, plural, values }: FilledMessage): string {
  const words = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, shown(value)]));
  return plural === undefined
    ? translator.translate(english, words)
    : translator.translatePlural(english, plural.english, plural.count, words);
}

/** Translates a message of a worker or of a client's machine. */
export function message(text: UserMessage): string {
  return typeof text === "string" ? translator.translate(text) : filled(text);
}

/** Translates what an error says to people. */
export function problem(error: unknown): string {
  return message(messageOf(error));
}
