import { describe, expect, it } from 'vitest';

import { openExecution } from '../../../projections/execution-watch/folded-execution.js';
import { StreamParked } from '../../../services/kernel/fault.js';
import { noPayloads, recorded, tallies, tallyCodec } from '../projections-kernel/tallies.js';
import { logIn } from '../streams/history/recorded.js';

const events = recorded([{ stream: 's' }, { stream: 's' }]);
const [first, second] = [events[0]!, events[1]!];

describe('an execution in memory', () => {
  it.each([
    ['cannot be read', 'Corrupt'],
    ['cannot be folded', 'Refused'],
    ['gives a document that cannot be stored', 'Odd'],
  ])('is parked by an event that %s, and takes the event once it has been repaired', async (_, type) => {
    const damaged = { ...second, type };
    const sources = { payloads: noPayloads, codecs: new Map([['tally', tallyCodec]]), models: [tallies] };
    const execution = openExecution(second.stream, { ...sources, log: logIn([first, damaged]) });
    expect(await execution.fold(first)).toHaveLength(1);
    await expect(execution.fold(damaged)).rejects.toThrow(StreamParked);
    expect(execution.position()).toBe(1n);
    const [change] = await execution.fold(second);
    expect(change!.documents[0]!.document.fields['sum']).toBe(2);
  });
});
