import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { EventLog, ReadStreamOptions } from '../../../services/kernel/ports/event-store.js';
import { IDENTITY_STREAM } from '../../../services/kernel/ports/log-identity.js';
import type { StreamName } from '../../../services/kernel/stream.js';
import { namedLog } from '../../../services/main/eventstore/named-log.js';
import { openEmptyLog } from '../../support/streams/filled-log.js';

describe('the stream with the id of a log', () => {
  let directory: string;
  let store: EventLog & { close(): Promise<void> };
  beforeAll(async () => {
    ({ directory, store } = await openEmptyLog());
  });
  afterAll(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  const revisions = async (options?: ReadStreamOptions): Promise<readonly bigint[]> => {
    const found: bigint[] = [];
    for await (const page of namedLog(store).readStream(IDENTITY_STREAM as StreamName, options))
      found.push(...page.map(({ revision }) => revision));
    return found;
  };

  it('has one event', async () => {
    expect(await revisions()).toEqual([0n]);
    expect(await revisions({ direction: 'backwards' })).toEqual([0n]);
    expect(await revisions({ direction: 'backwards', from: 5n })).toEqual([0n]);
  });

  it('has none after this event, so that a client that has read it does not get it again', async () => {
    expect(await revisions({ from: 1n })).toEqual([]);
  });
});
