import { expect } from 'vitest';

import type { Decider, Decision } from '../../../services/kernel/aggregate.js';

/** The result of a command. */
export type Received<Event, Refusal> = {
  /** Expects that the command was accepted with exactly these events. */
  then(...events: readonly Event[]): void;
  /** Expects that the command was accepted without events. */
  thenNothing(): void;
  /** Expects that the command was refused, with exactly these events, which are recorded all the same. */
  thenRefused(refusal: Refusal, ...events: readonly Event[]): void;
};

const expecting = <Event, Refusal>(decision: Decision<Event, Refusal>): Received<Event, Refusal> => ({
  then: (...events) => expect(decision).toEqual({ kind: 'accepted', events }),
  thenNothing: () => expect(decision).toEqual({ kind: 'accepted', events: [] }),
  thenRefused: (refusal, ...events) => {
    expect(decision).toMatchObject({ kind: 'refused', refusal });
    expect(decision.kind === 'refused' ? (decision.events ?? []) : undefined).toEqual(events);
  },
});

const stateAfter = <State, Command, Event, Refusal>(
  decider: Decider<State, Command, Event, Refusal>,
  facts: readonly Event[],
): State => facts.reduce((state, fact) => decider.evolve(state, fact), decider.initial());

/** A decider after these facts: `given(decider, …facts).when(command).then(…events)`. */
export const given = <State, Command, Event, Refusal>(
  decider: Decider<State, Command, Event, Refusal>,
  ...facts: readonly Event[]
): { when(command: Command): Received<Event, Refusal> } => ({
  when: (command) => expecting(decider.decide(stateAfter(decider, facts), command)),
});
