import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ExecutionError_ErrorKind as ErrorKind } from '../../../../proto/gen/platformidl/core/execution_pb.js';
import {
  HistoryEntity,
  type Transition,
  type TransitionListRequest,
  TransitionListRequestSchema,
} from '../../../../proto/gen/platformidl/eventlog/history_pb.js';
import type { ExecutionCommand } from '../../../../services/execution/commands.js';
import { executionCodec } from '../../../../services/execution/events.js';
import { listTransitions } from '../../../../services/streams/history/page.js';
import { creation, id, node, openStream, task, termination, workflow } from '../../execution/reports.js';
import { asRecorded, logIn, noPayloads, recordedAtMs } from './recorded.js';

type Asked = Exclude<MessageInitShape<typeof TransitionListRequestSchema>, TransitionListRequest>;

const failure = {
  outputResult: { case: 'error', value: { code: 'E', message: 'bad input', kind: ErrorKind.SYSTEM } },
} as const;

/** The commands of an execution, in order; the engine saw what they report at their `second`. */
const story: readonly ExecutionCommand[] = [
  creation,
  workflow('RUNNING', { second: 1, producer: 'propeller' }),
  node('QUEUED', { second: 2 }),
  node('RUNNING', { second: 3 }),
  task('QUEUED', { second: 3, reason: 'waits for a machine' }),
  task('RUNNING', { second: 4 }),
  task('FAILED', { second: 5, ...failure }),
  task('RUNNING', { second: 6, attempt: 1 }),
  node('RUNNING', { second: 7, node: 'n1' }),
  termination,
  workflow('ABORTED', { second: 9 }),
];

/** Gives a function that lists the transitions of an execution to which these commands were sent. */
const historyOf = (commands: readonly ExecutionCommand[]) => {
  const run = openStream();
  const sources = { log: logIn([]), payloads: noPayloads };
  const ready = (async () => {
    for (const command of commands) await run.refusal(command);
    sources.log = logIn(asRecorded(run.recorded));
  })();
  return async (asked: Asked = {}) => {
    await ready;
    return listTransitions(sources, create(TransitionListRequestSchema, { id, ...asked }));
  };
};

const list = historyOf(story);
/** A transition as a text: what it is about, and its phase. */
const nameOf = ({ entity, nodeId, attempt, phase }: Transition): string => {
  const subject = entity === HistoryEntity.TASK ? `${nodeId}/${attempt}` : nodeId;
  return `${HistoryEntity[entity]}${subject && ` ${subject}`} ${phase}`;
};
/** The transitions of the execution, as texts. */
const named = async (asked: Asked = {}) => (await list(asked)).transitions.map(nameOf);

const WHOLE = [
  'EXECUTION QUEUED',
  'EXECUTION RUNNING',
  'NODE n0 QUEUED',
  'NODE n0 RUNNING',
  'TASK n0/0 QUEUED',
  'TASK n0/0 RUNNING',
  'TASK n0/0 FAILED',
  'TASK n0/1 RUNNING',
  'NODE n1 RUNNING',
  'EXECUTION ABORTING',
  'EXECUTION ABORTED',
  'NODE n0 ABORTED',
  'NODE n1 ABORTED',
  'TASK n0/1 ABORTED',
];

describe('the history of an execution', () => {
  it('has every transition once, also those of nodes and tasks that ended with the execution', async () => {
    expect(await named()).toEqual(WHOLE);
    expect(await named({ newestFirst: true })).toEqual([...WHOLE].reverse());
  });

  it('has time, actor, request and position in the log', async () => {
    const { transitions } = await list();
    const running = transitions[1]!;
    expect(running).toMatchObject({
      position: 2n,
      revision: 1n,
      type: 'WorkflowPhaseReported',
      principal: 'actor-1',
      requestId: 'request-1',
      producerId: 'propeller',
    });
    expect(timestampMs(running.occurredAt!)).toBe(1_700_000_001_000); // at the second 1
    expect(timestampMs(running.recordedAt!)).toBe(recordedAtMs(1n));
    const closed = transitions.at(-1)!;
    expect(closed).toMatchObject({ endedWithExecution: true, revision: 10n, attempt: 1 });
    expect(timestampMs(closed.occurredAt!)).toBe(1_700_000_009_000); // at the second 9
  });

  it('gives the reason: of an error, of an abort, and of a task that waits', async () => {
    const { transitions } = await list();
    const reasons = new Map(transitions.map((each) => [nameOf(each), each.reason]));
    expect(reasons.get('TASK n0/0 FAILED')).toBe('bad input');
    expect(reasons.get('TASK n0/0 QUEUED')).toBe('waits for a machine');
    expect(reasons.get('EXECUTION ABORTING')).toBe('enough');
  });

  it('has the principal of the event when its metadata has no actor', async () => {
    const run = openStream(creation);
    await run.refusal(termination);
    const withoutActor = asRecorded(run.recorded).map((event) => ({
      ...event,
      metadata: event.metadata.replace(/actor-\d+/, ''),
    }));
    const sources = { log: logIn(withoutActor), payloads: noPayloads };
    const { transitions } = await listTransitions(sources, create(TransitionListRequestSchema, { id }));
    expect(transitions.map(({ principal }) => principal)).toEqual(['', 'ada']);
  });

  it.each([
    ['node', { nodeId: 'n1' }, ['NODE n1 RUNNING', 'NODE n1 ABORTED']],
    [
      'phase and entity',
      { phases: ['FAILED', 'QUEUED'], entities: [HistoryEntity.TASK] },
      ['TASK n0/0 QUEUED', 'TASK n0/0 FAILED'],
    ],
    ['type', { types: ['TerminationRequested'] }, ['EXECUTION ABORTING']],
    ['principal', { principal: 'actor-3' }, ['NODE n0 RUNNING']],
    [
      'time',
      { recordedFrom: timestampFromMs(recordedAtMs(5n)), recordedBefore: timestampFromMs(recordedAtMs(7n)) },
      ['TASK n0/0 RUNNING', 'TASK n0/0 FAILED'],
    ],
  ])('shows only what matches the filters: %s', async (_, filters, expected) => {
    expect(await named(filters)).toEqual(expected);
  });

  it('leaves out repeated phases where only changes are asked for', async () => {
    const again = historyOf([creation, node('RUNNING'), node('RUNNING', { deckUri: 's3://deck' })]);
    expect((await again()).transitions.map(({ samePhase }) => samePhase)).toEqual([false, false, true]);
    expect((await again({ changesOnly: true })).transitions).toHaveLength(2);
  });

  it.each([
    [{ token: 'x' }, 'token'],
    [{ limit: 1_001 }, 'limit'],
    [{ phases: ['failed'] }, "'failed' is not one of"],
    [{ id: { ...id, name: '' } }, 'id.name'],
  ])('refuses a request that cannot be answered: %j', async (asked, field) => {
    await expect(list(asked)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(field) as string,
    });
  });

  it.each([
    ['message of the engine', 'message'],
    ['list of what ended with the execution', 'closed'],
  ])('names the event whose %s cannot be decoded, without the text of the decoder', async (_, field) => {
    const run = openStream();
    for (const command of [creation, workflow('FAILED')]) await run.refusal(command);
    const [created, failed] = asRecorded(run.recorded);
    const { type, data } = executionCodec.decode(failed!.type, failed!.data, 1);
    const damaged = { ...data, [field]: { content: { case: 'inline', value: Uint8Array.of(0xff) } } };
    const event = { ...failed!, data: executionCodec.encode({ type, data: damaged } as never).data };
    const sources = { log: logIn([created!, event]), payloads: noPayloads };
    const { stream, position } = event;
    await expect(listTransitions(sources, create(TransitionListRequestSchema, { id }))).rejects.toMatchObject({
      message: `stream ${stream} is parked at position ${position}: it cannot be read`,
      cause: expect.any(RangeError) as RangeError,
    });
  });

  it('is NOT_FOUND for an execution without events', async () => {
    await expect(list({ id: { ...id, name: 'other' } })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('is the same in pages of any size', () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 20 }), fc.boolean(), async (limit, newestFirst) => {
        const seen: string[] = [];
        let token = '';
        do {
          const page = await list({ limit, newestFirst, token });
          seen.push(...page.transitions.map(nameOf));
          ({ token } = page);
        } while (token !== '');
        expect(seen).toEqual(newestFirst ? [...WHOLE].reverse() : WHOLE);
      }),
    ));

  it('can be read backwards from any page', () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 13 }), fc.integer({ min: 1, max: 14 }), async (skipped, limit) => {
        const { token } = await list({ limit: skipped });
        const { previousToken, transitions } = await list({ token, limit });
        expect(nameOf(transitions[0]!)).toBe(WHOLE[skipped]);
        const back = await named({ token: previousToken, newestFirst: true });
        expect(back).toEqual(WHOLE.slice(0, skipped).reverse());
      }),
    ));
});
