/** What pure reducers have in common: steps, steps after each other, and tables of legal events. */

/** The state after a change, and what the host has to do, in order. */
export interface Step<State, Effect> {
  readonly state: State;
  readonly effects: readonly Effect[];
}

export function step<State, Effect>(state: State, ...effects: readonly Effect[]): Step<State, Effect> {
  return { state, effects };
}

/** One change after the other; the effects of all of them. */
export function chain<State, Effect>(
  state: State,
  ...changes: readonly ((state: State) => Step<State, Effect>)[]
): Step<State, Effect> {
  return changes.reduce<Step<State, Effect>>(
    (before, change) => {
      const after = change(before.state);
      return { state: after.state, effects: [...before.effects, ...after.effects] };
    },
    { state, effects: [] },
  );
}

/** Both, for the states and effects of one machine. */
export function reducer<State, Effect>() {
  return { step: step<State, Effect>, chain: chain<State, Effect> };
}

/** A machine's table of transitions: for each type of event the phases in which it counts. */
export type LegalPhases<Event extends { readonly type: string }, Phase extends string> = Readonly<
  Record<Event["type"], readonly Phase[]>
>;

/** The reducer `handle`, with which an event that is illegal in the present phase changes nothing. */
export function legalOnly<State, Event extends { readonly type: string }, Effect, Phase extends string>(
  legal: LegalPhases<Event, Phase>,
  phase: (state: State) => Phase,
  handle: (state: State, event: Event) => Step<State, Effect>,
): (state: State, event: Event) => Step<State, Effect> {
  return (state, event) => {
    const phases: readonly Phase[] = legal[event.type as Event["type"]];
    return phases.includes(phase(state)) ? handle(state, event) : step(state);
  };
}
