/** Building blocks of pure reducers: steps, chains of steps, and tables of legal events. */

/** The state after a change, and the effects that the host performs, in order. */
export interface Step<State, Effect> {
  readonly state: State;
  readonly effects: readonly Effect[];
}

export function step<State, Effect>(state: State, ...effects: readonly Effect[]): Step<State, Effect> {
  return { state, effects };
}

/** Applies one change after the other; returns the effects of all of them. */
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

/** Returns `step` and `chain` for the states and effects of one machine. */
export function reducer<State, Effect>() {
  return { step: step<State, Effect>, chain: chain<State, Effect> };
}

/** A machine's table of transitions: for each type of event the phases in which it is legal. */
export type LegalPhases<Event extends { readonly type: string }, Phase extends string> = Readonly<
  Record<Event["type"], readonly Phase[]>
>;

/** Wraps the reducer `handle`, so that an event that is illegal in the current phase changes nothing. */
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
