import { describe, expect, it } from 'vitest';

import { watchedExecution } from '../../../projections/execution-watch/watched-execution.js';
import { executions } from '../../../projections/executions/projection.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { executionStream } from '../../../services/kernel/execution-id.js';
import { codecs } from '../../../services/main/models.js';
import { creation, openStream, workflow } from '../execution/reports.js';
import { asRecorded, logIn, noPayloads } from '../streams/history/recorded.js';

const ID = { project: 'flytesnacks', domain: 'development', name: 'a1' };

describe('a watched execution', () => {
  it('is found by a watcher that comes after its creation, although it was not there for an earlier one', async () => {
    const run = openStream(creation);
    await run.refusal(workflow('QUEUED'));
    const log: RecordedEvent[] = [];
    const sources = { log: logIn(log), payloads: noPayloads, codecs, models: [executions] };
    const watched = watchedExecution(ID, { ...sources, executions: executions.collection });
    await expect(watched.begin(undefined)).rejects.toThrow('missing entity of type execution');
    log.push(...asRecorded(run.recorded).map((event) => ({ ...event, stream: executionStream(ID) })));
    expect(await watched.begin(undefined)).toMatchObject({ position: log.at(-1)!.position, isEnded: false });
  });
});
