import { describe, expect, it } from 'vitest';

import type { EngineSessionCommand } from '../../../services/engine-session/commands.js';
import { engineSessionAggregate, engineSessionDecider } from '../../../services/engine-session/decider.js';
import type { EngineSessionEvent } from '../../../services/engine-session/events.js';

const id = { group: 'default', engine: 'a', session: '0f1d1a52-7c39-4b0e-8d5b-6f1d6a3b2c4d' };
const open: EngineSessionCommand = { type: 'OpenSession', id };
const renew: EngineSessionCommand = { type: 'RenewSession', id };
/** Ends the session; with `renewals`, only if it has been renewed that often and not more. */
const end = (renewals?: number): EngineSessionCommand => ({ type: 'EndSession', id, renewals, cause: 'gone' });

/**
 * Runs commands on a stream in memory. Gives the answer of the last one (`OK` or the kind of its refusal), the recorded
 * events without the prefix `EngineSession`, and the state.
 */
const after = (...commands: readonly EngineSessionCommand[]) => {
  const { codec } = engineSessionAggregate;
  const events: EngineSessionEvent[] = [];
  let state = engineSessionDecider.initial();
  let answer = '';
  for (const command of commands) {
    const decision = engineSessionDecider.decide(state, command);
    answer = decision.kind === 'refused' ? decision.refusal.kind : 'OK';
    for (const event of decision.kind === 'accepted' ? decision.events : []) {
      const { type, data } = codec.encode(event);
      events.push(event);
      state = engineSessionDecider.evolve(state, codec.decode(type, data, 1 /* schema version */));
    }
  }
  return { answer, types: events.map(({ type }) => type.replace('EngineSession', '')), state };
};

describe('the session of an engine', () => {
  it.each<[string, readonly EngineSessionCommand[], string, readonly string[]]>([
    ['is opened once', [open, open], 'OK', ['Opened']],
    ['is renewed while it is open', [open, renew, renew], 'OK', ['Opened', 'Renewed', 'Renewed']],
    ['is not renewed before it is open', [renew], 'session-over', []],
    ['ends once', [open, end(), end()], 'OK', ['Opened', 'Ended']],
    ['is not renewed after its end', [open, end(), renew], 'session-over', ['Opened', 'Ended']],
    ['is not opened again after its end', [open, end(), open], 'session-over', ['Opened', 'Ended']],
    [
      'stays open when it was renewed since its renewals were counted',
      [open, renew, end(0)],
      'session-renewed',
      ['Opened', 'Renewed'],
    ],
    [
      'ends when it was not renewed since its renewals were counted',
      [open, renew, end(1)],
      'OK',
      ['Opened', 'Renewed', 'Ended'],
    ],
    ['has nothing to end before it is open', [end()], 'OK', []],
  ])('%s', (_, commands, answer, types) => {
    expect(after(...commands)).toMatchObject({ answer, types });
  });
});
