/** What pure reducers have in common: steps, and steps after each other. */

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
