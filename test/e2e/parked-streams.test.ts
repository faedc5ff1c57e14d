import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { MatchableResource } from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import {
  EventLogService,
  type TailEvent,
  TailRequest_Format,
  TailRequestSchema,
  TailResponseSchema,
} from '../../proto/gen/platformidl/eventlog/tail_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { categoryOf } from '../../services/kernel/stream.js';
import { codecs } from '../../services/main/models.js';
import { messagesOf } from '../support/clients/followers.js';
import { readiness } from '../support/processes/health.js';
import {
  ASKED,
  CATEGORIES,
  fillStreams,
  KINDS,
  launchOf,
  type ParkedText,
  plan,
  poison,
  PROJECTS,
} from '../support/streams/poisoned-streams.js';
import { workflowReport } from '../support/requests/reports.js';
import type { Transport } from '../support/clients/transports.js';
import { startTwoProcesses, type TwoProcesses } from '../support/processes/two-processes.js';
import { until } from '../support/until.js';

const { method } = AdminService;
const LIMIT_MS = 120_000;

let two: TwoProcesses;
let parked: ParkedText;

beforeAll(async () => {
  two = await startTwoProcesses({ env: { FLIGHTLOG_PROJECTS: PROJECTS } });
  await fillStreams(two.members[0].api());
  parked = await poison(two.log.address);
  await two.members[0].kill();
  await two.members[0].start();
}, LIMIT_MS);
afterAll(() => two.close(), LIMIT_MS);

describe.each([
  ['started after it was recorded', 0],
  ['running when it was recorded', 1],
] as const)('a process that cannot read an event of some streams, %s', (_, at) => {
  const api = (): Transport => two.members[at].api();

  it.each(KINDS.flatMap((kind) => CATEGORIES.map((category) => [kind, category] as const)))(
    'answers UNAVAILABLE with the stream and the position (%s, %s)',
    async (kind, category) => {
      const answer = await until(
        () => ASKED[category](api(), kind),
        ({ code }) => code === 'UNAVAILABLE',
      );
      expect(answer.message).toContain(parked(category, kind));
    },
  );

  it('answers UNAVAILABLE to GetProjectAttributes, with the stream', async () => {
    const answer = await api().attempt(method.getProjectAttributes, {
      project: 'attributed-corrupt',
      resourceType: MatchableResource.TASK_RESOURCE,
    });
    expect(answer).toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('attributes-attributed-corrupt') as string,
    });
  });

  it('has every event in a tail in protobuf, those that it cannot read as they are stored', async () => {
    const { grpc } = two.members[at].server().ready;
    const request = create(TailRequestSchema, { from: 'start', format: TailRequest_Format.PROTOBUF });
    const log = (await two.events()).filter(({ stream }) => codecs.has(categoryOf(stream)));
    const tailed: TailEvent[] = [];
    for await (const bytes of messagesOf(grpc, EventLogService.method.tail, toBinary(TailRequestSchema, request))) {
      const { event, position } = fromBinary(TailResponseSchema, bytes);
      if (event) tailed.push(event);
      if (position >= log.at(-1)!.position) break;
    }
    const tailedRevisions = tailed.slice(0, log.length).map(({ stream, revision }) => `${stream} ${revision}`);
    expect(tailedRevisions).toEqual(log.map(({ stream, revision }) => `${stream} ${revision}`));
    const unknown = tailed.filter(({ type }) => type === 'OfANewerRelease');
    expect(unknown).toHaveLength(CATEGORIES.length);
    // The bytes that `poison` has written.
    for (const { data } of unknown) expect(Buffer.from(data.value as Uint8Array).toString('hex')).toBe('ffffff');
  });

  it.each(KINDS)('answers UNAVAILABLE with the stream and the position to a read of the past (%s)', async (kind) => {
    const id = { project: 'flytesnacks', domain: 'development', name: `run-${kind}` };
    const asOf = new Date(Date.now() + 1_000).toISOString(); // after every event
    const answer = await api().attempt(method.getExecution, { id, asOf });
    expect(answer).toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining(parked('execution', kind)) as string,
    });
  });

  it('launches and ends other executions, and releases their slots', async () => {
    const id = { project: 'flytesnacks', domain: 'development', name: `goes-on-${at}` };
    await api().call(method.createLaunchPlan, plan(`hello.one-${at}`, 1));
    expect((await launchOf(api(), id.name, `hello.one-${at}`)).code).toBe('OK');
    await api().call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.FAILED }));
    const slots = async () =>
      (await two.events()).filter(({ stream }) => stream.endsWith(`hello.one-${at}`)).map(({ type }) => type);
    await until(slots, (types) => types.includes('SlotReleased'));
  });

  it('is ready, and its health check counts the streams', async () => {
    const { ready, checks } = await readiness(two.members[at].server().ready.http);
    expect(ready).toBe(true);
    expect(checks['parked']).toMatchObject({
      state: 'degraded',
      why: expect.stringMatching(/streams that this process cannot read: [1-9]/u) as string,
    });
  });
});
