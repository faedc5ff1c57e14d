import { describe, expect, it } from 'vitest';

import { CorruptEvent } from '../../../../services/kernel/fault.js';
import type { EventLog } from '../../../../services/kernel/ports/event-store.js';
import { labelsFrom } from '../../../../services/streams/tail/selection.js';
import { executionStream } from '../../../support/streams/filled-log.js';

describe('the labels of executions', () => {
  it('of 10,000 streams are kept, however often they are asked for', async () => {
    let reads = 0;
    const readStream: EventLog['readStream'] = () => {
      reads += 1;
      throw new CorruptEvent('damaged');
    };
    const labelsOf = labelsFrom({
      async *readStream(...asked) {
        yield* readStream(...asked);
      },
    });
    for (let round = 0; round < 2; round += 1)
      for (let index = 0; index < 10_000; index += 1)
        expect(await labelsOf(executionStream(`e${index}`))).toBe('unreadable');
    expect(reads).toBe(10_000);
  });
});
