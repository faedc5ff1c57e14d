import { describe, expect, it } from 'vitest';

import { executionFolds } from '../../../projections/execution-watch/execution-folds.js';
import { watchedList } from '../../../projections/execution-watch/watched-list.js';
import { executions } from '../../../projections/executions/projection.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { streamName } from '../../../services/kernel/stream.js';
import { codecs } from '../../../services/main/models.js';
import { creation, openStream, workflow } from '../execution/reports.js';
import { asRecorded, logIn, noPayloads } from '../streams/history/recorded.js';

const streamOf = (name: string) => streamName('execution', ['flytesnacks', 'development', name]);

/** Two executions, created and then running; the first report of `damaged` cannot be read. */
const events = async (): Promise<readonly RecordedEvent[]> => {
  const run = openStream(creation);
  for (const phase of ['QUEUED', 'RUNNING'] as const) await run.refusal(workflow(phase));
  return asRecorded(run.recorded).flatMap((event, at) =>
    ['damaged', 'sound'].map((name, of) => ({
      ...event,
      stream: streamOf(name),
      position: BigInt(2 * at + of + 1),
      ...(name === 'damaged' && at === 1 && { data: Uint8Array.of(0xff) }),
    })),
  );
};

const watched = (all: readonly RecordedEvent[]) => {
  const sources = { log: logIn(all), payloads: noPayloads, codecs, models: [executions] };
  const openFolds = () => executionFolds(sources, executions.collection);
  const readLog = async function* ({ after }: { readonly after: bigint }) {
    const page = all.filter(({ position }) => position > after);
    yield await Promise.resolve({ events: page, position: BigInt(all.length) });
  };
  return watchedList(
    { under: streamOf(''), isMatch: () => true },
    {
      log: { readLog },
      ...{ folds: openFolds(), openFolds },
      categories: ['execution'],
      follows: executions.follows,
      position: () => BigInt(all.length),
    },
  );
};

describe('a watched list with an execution that has an event which cannot be read', () => {
  it('has the changes of the other executions: as they come, and of a watcher that resumes', async () => {
    const all = await events();
    const list = watched(all);
    const live: bigint[] = [];
    for (const event of all) live.push(...(await list.take(event)).map(({ position }) => position));
    expect(live).toEqual([1n, 2n, 4n, 6n]);

    const resumed: bigint[] = [];
    for await (const { position } of (await list.begin(1n)).first) resumed.push(position);
    expect(resumed).toEqual([2n, 4n, 6n]);
  });
});
