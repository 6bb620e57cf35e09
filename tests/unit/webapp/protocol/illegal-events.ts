/** What a machine makes of events that its table of transitions does not name for the present phase. */

import { expect } from "vitest";
import type { LegalPhases, Step } from "../../../../webapp/static/src/protocol/client/reducer";

interface Machine<State, Event extends { readonly type: string }, Phase extends string> {
  readonly INITIAL: State;
  readonly LEGAL_PHASES: LegalPhases<Event, Phase>;
  readonly phase: (state: State) => Phase;
  readonly handle: (state: State, event: Event) => Step<State, unknown>;
}

/** In every state of `conversations`, every event of them that is illegal there changes nothing. */
export function expectIllegalEventsIgnored<
  State,
  Event extends { readonly type: string },
  Phase extends string,
>(
  { INITIAL, LEGAL_PHASES, phase, handle }: Machine<State, Event, Phase>,
  conversations: readonly { readonly steps: readonly { readonly event: Event }[] }[],
): void {
  const events = conversations.flatMap(({ steps }) => steps.map(({ event }) => event));
  const changed = new Set<string>();
  for (const { steps } of conversations) {
    let state = INITIAL;
    for (const { event: next } of steps) {
      for (const event of events) {
        const phases: readonly Phase[] = LEGAL_PHASES[event.type as Event["type"]];
        if (phases.includes(phase(state))) continue;
        const after = handle(state, event);
        if (after.state !== state || after.effects.length > 0)
          changed.add(`${event.type} while ${phase(state)}`);
      }
      state = handle(state, next).state;
    }
  }
  expect([...changed]).toEqual([]);
}
