import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';

import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { beginAfter, type SelectionFlags, selectionOf } from '../../../services/cli/log/cat-selection.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';

const START_MS = Date.UTC(2026, 2, 2);
const MINUTE_MS = 60_000;

/** The number of events in the log: one a minute, alternately in the streams of two projects. */
const EVENTS = 10;

describe('the position after which log cat begins', () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-selection-'));
  let log: EventStore;

  /** Appends one event, whose id is made from `number`. */
  const append = (number: number, stream: StreamName, metadata: object) => {
    const id = new Uint8Array(16).fill(number);
    return log.append(stream, 'any', [{ id, type: 'A', data: new Uint8Array(), metadata: JSON.stringify(metadata) }]);
  };

  beforeAll(async () => {
    log = await sqliteEventStore({ directory });
    for (let each = 0; each < EVENTS; each += 1) {
      const stream = streamName('project', [each % 2 === 0 ? 'even' : 'odd']);
      const metadata = { recordedAtMs: START_MS + each * MINUTE_MS, actor: '', commandId: '', schema: 1 };
      await append(each, stream, metadata);
    }
  });
  afterAll(async () => {
    await log.close();
    rmSync(directory, { recursive: true });
  });

  const begin = (flags: SelectionFlags): Promise<bigint> => beginAfter(log, selectionOf(flags), flags);

  const cases: readonly (readonly [SelectionFlags, bigint])[] = [
    [{}, 0n],
    [{ from: 0n }, 0n],
    [{ from: 4n }, 3n],
    [{ from: 'end' }, 10n],
    [{ from: 'end', tail: 3 }, 10n],
    [{ tail: 0 }, 10n],
    [{ tail: 3 }, 7n],
    [{ tail: 100 }, 0n],
    [{ tail: 3, from: 9n }, 8n],
    [{ tail: 2, project: 'even' }, 6n],
    [{ tail: 1, stream: 'project-even' }, 7n],
    [{ since: START_MS - MINUTE_MS }, 0n],
    // One minute is allowed for clock skew; events before `since` are not printed.
    [{ since: START_MS + 5 * MINUTE_MS }, 4n],
    [{ since: START_MS + 5 * MINUTE_MS, tail: 2 }, 8n],
  ];
  for (const [flags, after] of cases)
    it(`is ${after} with ${inspect(flags)}`, async () => {
      expect(await begin(flags)).toBe(after);
    });

  it('is not changed by an event of another program, whose time may have any unit', async () => {
    await append(EVENTS, streamName('bank', ['a']), { recordedAtMs: 5 });
    const after = { recordedAtMs: START_MS + EVENTS * MINUTE_MS, actor: '', commandId: '', schema: 1 };
    await append(EVENTS + 1, streamName('project', ['even']), after);
    expect(await begin({ since: START_MS + 5 * MINUTE_MS })).toBe(4n);
  });
});
