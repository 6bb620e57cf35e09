/**
 * Messages for people, in English, that a page translates when it shows them. They can be sent between threads, so
 * that only pages need a catalogue: `vite.translations.ts` finds what `later` and `laterPlural` mark.
 */

/** A name is shown as it is, a number with its thousands apart, and names as a list. */
export type MessageValue = string | number | readonly string[] | FilledMessage;

/** English with the values of its placeholders `%(name)s`; of a plural, also the form and count. */
export interface FilledMessage {
  readonly english: string;
  readonly values: Readonly<Record<string, MessageValue>>;
  readonly plural?: { readonly english: string; readonly count: number };
}

/** A string is a message without values, or the words of a browser or server, which have no translation. */
export type UserMessage = string | FilledMessage;

/** Names of the placeholders of a text: of `%(unit)s of %(units)s`, `"unit" | "units"`. */
export type Placeholder<Text extends string> = Text extends `${string}%(${infer Name})s${infer Rest}`
  ? Name | Placeholder<Rest>
  : never;

/** Marks a message for the catalogue. */
export function later<Text extends string>(english: [Placeholder<Text>] extends [never] ? Text : never): Text;
export function later<Text extends string>(
  english: Text,
  values: Readonly<Record<Placeholder<Text>, MessageValue>>,
): FilledMessage;
export function later(english: string, values?: FilledMessage["values"]): UserMessage {
  return values === undefined ? english : { english, values };
}

/** Marks a message in two forms, of which the page chooses that of `count`, its placeholder `%(count)s`. */
export function laterPlural<One extends string, Many extends string>(
  one: One,
  many: Many,
  count: number,
  values: Readonly<Record<Exclude<Placeholder<One | Many>, "count">, MessageValue>>,
): FilledMessage {
  return { english: one, values: { ...values, count }, plural: { english: many, count } };
}

/** Returns a message as the value of another. */
export function asValue(message: UserMessage): FilledMessage {
  return typeof message === "string" ? { english: message, values: {} } : message;
}

/** An error whose message a page can translate; a `lasting` one comes again at each attempt on this device. */
export class UserError extends Error {
  override readonly name: string = "UserError";
  readonly lasting: boolean;

  constructor(
    readonly userMessage: UserMessage,
    { lasting = false } = {},
  ) {
    super(inEnglish(userMessage));
    this.lasting = lasting;
  }
}

/** Whether another attempt on this device fails with the same error. */
export function isLasting(error: unknown): boolean {
  return error instanceof UserError && error.lasting;
}

/** Returns what an error says to people. */
export function messageOf(error: unknown): UserMessage {
  if (error instanceof UserError) return error.userMessage;
  return error instanceof Error ? error.message : String(error);
}

/** Returns the English of a message, for logs and for other machines. */
export function inEnglish(message: UserMessage): string {
  if (typeof message === "string") return message;
  const { english, plural, values } = message;
  const text = plural === undefined || plural.count === 1 ? english : plural.english;
  return text.replace(/%\((\w+)\)s/g, (_, name: string) => englishValue(values[name] ?? ""));
}

function englishValue(value: MessageValue): string {
  if (typeof value === "string" || typeof value === "number") return String(value);
  return isNames(value) ? listNames(value) : inEnglish(value);
}

/** Whether a value is a list of names. */
export function isNames(value: readonly string[] | FilledMessage): value is readonly string[] {
  return Array.isArray(value);
}

function listNames(names: readonly string[]): string {
  const shown = names.slice(0, 10);
  if (names.length > shown.length) return `${shown.join(", ")} and ${names.length - shown.length} more`;
  const last = shown.pop() ?? "";
  return shown.length > 0 ? `${shown.join(", ")} and ${last}` : last;
}
