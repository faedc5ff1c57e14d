import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { beforeEach, describe, expect, it } from 'vitest';

import { executionFolds } from '../../../projections/execution-watch/execution-folds.js';
import { type ListFilter, watchedList } from '../../../projections/execution-watch/watched-list.js';
import { executions } from '../../../projections/executions/projection.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ParkedStreamRetryRequestedSchema } from '../../../proto/gen/platformidl/eventlog/parked_stream_pb.js';
import { WatchResponseSchema } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { CorruptEvent, StoreUnavailable } from '../../../services/kernel/fault.js';
import { streamName } from '../../../services/kernel/stream.js';
import { codecs } from '../../../services/main/models.js';
import { RETRIES_STREAM } from '../../../services/parked-stream/events.js';
import { retriedBy } from '../../../services/reference/retry-requests.js';
import { creation, node, openStream, workflow } from '../execution/reports.js';
import { asRecorded, logIn, noPayloads } from '../streams/history/recorded.js';

const streamOf = (name: string) => streamName('execution', ['flytesnacks', 'development', name]);
const DAMAGED = streamOf('damaged');

/**
 * Two executions whose events alternate: those of `damaged` have the positions 1n, 3n, …, and those of `sound` 2n, 4n,
 * …. Each is created (1n, 2n), then reported QUEUED (3n, 4n) and RUNNING (5n, 6n); then its node is reported QUEUED
 * (7n, 8n) and RUNNING (9n, 10n); and then the execution is reported SUCCEEDED (11n, 12n).
 */
const recordedEvents = async (): Promise<RecordedEvent[]> => {
  const run = openStream(creation);
  for (const phase of ['QUEUED', 'RUNNING'] as const) await run.refusal(workflow(phase));
  for (const phase of ['QUEUED', 'RUNNING'] as const) await run.refusal(node(phase));
  await run.refusal(workflow('SUCCEEDED'));
  return asRecorded(run.recorded).flatMap((event, at) =>
    ['damaged', 'sound'].map((name, offset) => {
      const position = BigInt(2 * at + offset + 1);
      return { ...event, stream: streamOf(name), position };
    }),
  );
};

/** The event of a request to retry the parked stream `damaged`. */
const retryAt = (position: bigint): RecordedEvent => {
  const data = toBinary(
    ParkedStreamRetryRequestedSchema,
    create(ParkedStreamRetryRequestedSchema, { stream: DAMAGED }),
  );
  const id = new Uint8Array(16);
  const type = 'ParkedStreamRetryRequested';
  const [event] = asRecorded([{ stream: RETRIES_STREAM, revision: 0n, position, id, type, data, metadata: '' }]);
  return event!;
};

let sound: readonly RecordedEvent[];
/** The log, which tests damage and mend. */
let log: RecordedEvent[];
/** The streams that were read, in order. */
let reads: string[];

beforeEach(async () => {
  sound = await recordedEvents();
  [log, reads] = [[...sound], []];
});

/** Replaces fields of the event at a position; without fields, restores the event. */
const change = (position: bigint, fields: Partial<RecordedEvent> = {}): void => {
  const at = sound.findIndex((event) => event.position === position);
  log[at] = { ...sound[at]!, ...fields };
};
const CORRUPT = { data: Uint8Array.of(0xff) };

/** Gives a function that opens lists which share folds, as the lists of one process do. */
const lists = ({ readStream } = logIn(log)) => {
  const counted: typeof readStream = (stream, options) => {
    reads.push(stream);
    return readStream(stream, options);
  };
  const sources = { log: { readStream: counted }, payloads: noPayloads, codecs, models: [executions] };
  const openFolds = () => executionFolds(sources, executions.collection);
  const readLog = async function* ({ after }: { readonly after: bigint }) {
    const page = log.filter(({ position }) => position > after);
    yield await Promise.resolve({ events: page, position: log.at(-1)!.position });
  };
  const listSources = {
    log: { readLog },
    ...{ folds: openFolds(), openFolds, retriedBy },
    categories: ['execution', 'parkedStream'],
    follows: executions.follows,
    position: () => log.at(-1)!.position,
  };
  return (isMatch: ListFilter['isMatch'] = () => true) => watchedList({ under: streamOf(''), isMatch }, listSources);
};

const watched = (isMatch?: ListFilter['isMatch'], readsOf = logIn(log)) => lists(readsOf)(isMatch);

type List = ReturnType<typeof watched>;

/** An answer as a text: its position, and the phase of its execution, or `left` where that no longer matches. */
const shown = (bytes: Uint8Array): string => {
  const { position, executions: changed } = fromBinary(WatchResponseSchema, bytes);
  const phase = changed[0]?.closure?.phase;
  return `${position} ${phase === undefined ? 'left' : Phase[phase]}`;
};

/** The answers of a list to the events that it takes. */
const take = async (list: List, events: readonly RecordedEvent[]): Promise<readonly string[]> => {
  const answers: string[] = [];
  for (const event of events) for (const { bytes } of await list.fold(event)) answers.push(shown(bytes));
  return answers;
};

/** The first answers of a list that is resumed after a position. */
const resume = async (list: List, after: bigint): Promise<readonly string[]> => {
  const answers: string[] = [];
  for await (const { bytes } of (await list.begin(after)).first) answers.push(shown(bytes));
  return answers;
};

const OF_SOUND = ['4 QUEUED', '6 RUNNING', '12 SUCCEEDED'];
const isRunning: ListFilter['isMatch'] = ({ fields }) => fields['phase'] === 'RUNNING';

describe('a watched list that is opened after another list of its process', () => {
  it('says that an execution no longer matches which came to match in events that no list has taken', async () => {
    const opened = lists();
    await take(opened(isRunning), log.slice(0, 4));
    expect(await take(opened(isRunning), log.slice(10))).toEqual(['11 left', '12 left']);
  });

  it('reads no stream when the other list has taken all earlier events', async () => {
    const opened = lists();
    await take(opened(), log.slice(0, 4));
    await take(opened(), log.slice(4));
    expect(reads).toEqual([]);
  });
});

describe('a watched list with an execution that has an event which cannot be read', () => {
  it.each([
    ['corrupt', CORRUPT],
    ['of an unknown type', { type: 'PhaseForeseen' }],
  ])('has the changes of the other executions, live and resumed (%s)', async (_, fields) => {
    change(3n, fields);
    const list = watched();
    expect(await take(list, log)).toEqual(['1 QUEUED', '2 QUEUED', ...OF_SOUND]);
    expect(await resume(list, 1n)).toEqual(['2 QUEUED', ...OF_SOUND]);
  });

  it('reads the stream of the execution once when the list begins after the event', async () => {
    change(3n, CORRUPT);
    expect(await resume(watched(), 3n)).toEqual(OF_SOUND);
    expect(reads.filter((stream) => stream === DAMAGED)).toEqual([DAMAGED]);
  });

  it('does not read the stream of the execution when the list has come to the event', async () => {
    change(3n, CORRUPT);
    await take(watched(), log);
    expect(reads).toEqual([]);
  });

  it('goes on with the execution when the event is of a node, because it is not decoded', async () => {
    change(9n, CORRUPT); // the list does not follow its type, of which only the first event, at 7, is decoded
    expect(await take(watched(), log)).toContain('11 SUCCEEDED');
  });

  it('goes on without an execution whose stream was deleted in the store, and reads that stream once', async () => {
    const { readStream } = logIn(log);
    const list = watched(undefined, {
      readStream: (stream, options) => {
        if (stream === DAMAGED) throw new CorruptEvent('a stream was deleted in the event store');
        return readStream(stream, options);
      },
    });
    expect(await take(list, log.slice(2))).toEqual(OF_SOUND);
    expect(reads.filter((stream) => stream === DAMAGED)).toEqual([DAMAGED]);
    expect(await resume(list, 3n)).toEqual(OF_SOUND);
  });

  it('ends when the log cannot be read', async () => {
    const list = watched(undefined, {
      readStream: () => {
        throw new StoreUnavailable('no node answers');
      },
    });
    await expect(take(list, log.slice(2))).rejects.toThrow(StoreUnavailable);
  });
});

describe('the retry of the stream of an execution with an event that could not be read', () => {
  it('sends the execution as it is then, also to a watcher that resumes from before the retry', async () => {
    change(3n, CORRUPT);
    const list = watched();
    await take(list, log.slice(0, 10));
    change(3n);
    log.splice(10, 0, retryAt(10n)); // before the last event of each execution
    expect(await take(list, log.slice(10))).toEqual(['10 RUNNING', '11 SUCCEEDED', '12 SUCCEEDED']);
    expect(await resume(list, 8n)).toEqual(['10 RUNNING', '11 SUCCEEDED', '12 SUCCEEDED']);
  });

  it('says that the execution no longer matches, whatever it was before', async () => {
    change(11n, CORRUPT);
    const list = watched(isRunning);
    expect(await take(list, log)).toEqual(['5 RUNNING', '6 RUNNING', '12 left']);
    change(11n);
    log.push(retryAt(13n));
    expect(await take(list, log.slice(-1))).toEqual(['13 left']);
    expect(await resume(list, 12n)).toEqual(['13 left']);
  });

  it('gives the later changes to a list that is opened after a retry at which no list was open', async () => {
    change(3n, CORRUPT);
    const opened = lists();
    await take(opened(), log.slice(0, 6));
    change(3n);
    log.splice(6, 0, retryAt(6n));
    expect(await take(opened(isRunning), log.slice(7))).toEqual(['11 left', '12 left']);
  });

  it('sends nothing while the event still cannot be read, and reads the stream once', async () => {
    change(3n, CORRUPT);
    const list = watched();
    await take(list, log.slice(0, 6));
    expect(await take(list, [retryAt(6n), ...log.slice(6)])).toEqual(['12 SUCCEEDED']);
    expect(reads).toEqual([DAMAGED]);
  });
});
