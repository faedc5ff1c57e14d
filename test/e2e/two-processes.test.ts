import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { WorkflowExecutionGetRequestSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import {
  ConcurrencyLimitBehavior,
  LaunchPlanCreateRequestSchema,
  LaunchPlanState,
} from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import {
  NodeExecution_Phase as Node,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { NodeExecutionEventSchema } from '../../proto/gen/platformidl/event/event_pb.js';
import { NodePhaseReportedSchema } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import { LaunchPlanActivatedSchema } from '../../proto/gen/platformidl/eventlog/launch_plan_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { register } from '../support/processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../support/requests/fixtures.js';
import { helloRequest, launchHello } from '../support/requests/hello.js';
import { type ExecutionId, nodeReport, second, workflowReport } from '../support/requests/reports.js';
import type { Answer, Transport } from '../support/clients/transports.js';
import { startTwoProcesses, type TwoProcesses } from '../support/processes/two-processes.js';

const { method } = AdminService;
/** Reports that are sent at the same time. */
const IN_FLIGHT = 16;
const LIMIT_MS = 120_000;

let two: TwoProcesses;
/** The reports sent so far. */
let sent = 0;
/** The status of the answer to each report, by the URI of its deck. */
const answered = new Map<string, string>();

/** The transport to the process whose turn it is. */
const api = (turn: number): Transport => two.members[turn % 2 === 0 ? 0 : 1].api();
const first = (): Transport => api(0);
const other = (): Transport => api(1);

const place = { project: 'flytesnacks', domain: 'development' };
const idOf = (name: string): ExecutionId => ({ ...place, name });

/** A unique report of a node, and the URI of its deck, which no other report has. */
const uniqueReport = (
  id: ExecutionId,
  nodeId: string,
  phase: Node,
): { deck: string; request: ReturnType<typeof nodeReport> } => {
  const deck = `s3://decks/${(sent += 1)}`;
  return { deck, request: nodeReport(id, nodeId, { phase, occurredAt: second(sent), deckUri: deck }) };
};

/** Sends QUEUED, RUNNING, QUEUED, RUNNING, … of one node to both processes in turn; returns the answers. */
const alternate = async (id: ExecutionId, nodeId: string, count: number): Promise<readonly Answer[]> => {
  const answers: Answer[] = [];
  let turn = 0;
  const work = async (): Promise<void> => {
    while (turn < count) {
      const mine = turn++;
      const { deck, request } = uniqueReport(id, nodeId, mine % 2 === 0 ? Node.QUEUED : Node.RUNNING);
      const answer = await api(mine).attempt(method.createNodeEvent, request);
      answered.set(deck, answer.code);
      answers.push(answer);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  return answers;
};

/** Counts how often the log has each deck in reports of nodes. */
const recordedDecks = async (): Promise<ReadonlyMap<string, number>> => {
  const times = new Map<string, number>();
  for (const { type, data } of await two.events()) {
    if (type !== 'NodePhaseReported') continue;
    const { message } = fromBinary(NodePhaseReportedSchema, data);
    if (message?.content.case !== 'inline') continue;
    const { deckUri } = fromBinary(NodeExecutionEventSchema, message.content.value);
    if (deckUri !== '') times.set(deckUri, (times.get(deckUri) ?? 0) + 1);
  }
  return times;
};

/** Expects that no acknowledged event is missing, and none is there twice. */
const expectNothingLost = async (): Promise<void> => {
  const times = await recordedDecks();
  const acknowledged = [...answered].filter(([, code]) => code === 'OK' || code === 'ALREADY_EXISTS');
  expect(acknowledged.filter(([deck]) => !times.has(deck))).toEqual([]);
  expect([...times].filter(([, count]) => count !== 1)).toEqual([]);
};

/** The different statuses of some answers, sorted. */
const codes = (answers: readonly Answer[]): string[] => [...new Set(answers.map(({ code }) => code))].sort();

beforeAll(async () => {
  two = await startTwoProcesses();
  await register(first(), withNeeds('01-hello'));
}, LIMIT_MS);
afterAll(() => two.close(), LIMIT_MS);

describe('two control planes on one log', () => {
  it('know at once what the other has recorded', async () => {
    await expect(launchHello(other(), 'launched-elsewhere')).resolves.toMatchObject({ name: 'launched-elsewhere' });
    const answer = await first().attempt(
      method.createNodeEvent,
      nodeReport(idOf('launched-elsewhere'), 'n0', { phase: Node.QUEUED }),
    );
    expect(answer.code).toBe('OK');
    const running = await other().attempt(
      method.createNodeEvent,
      nodeReport(idOf('launched-elsewhere'), 'n0', { phase: Node.RUNNING }),
    );
    expect(running.code).toBe('OK');
  });

  it('show a write of the other process to a caller that names its position', async () => {
    for (let round = 0; round < 10; round += 1) {
      const name = `positioned-${round}`;
      const bytes = toBinary(method.createExecution.input, helloRequest(name));
      const { position } = await api(round).send('CreateExecution', bytes);
      const request = toBinary(
        WorkflowExecutionGetRequestSchema,
        create(WorkflowExecutionGetRequestSchema, { id: idOf(name) }),
      );
      const read = await api(round + 1).send('GetExecution', request, { 'flightlog-min-position': position! });
      expect(read.code).toBe('OK');
    }
  });

  it(
    'lose no report and record none twice when reports of a node go to both in turn',
    async () => {
      const id = await launchHello(first(), 'by-turns');
      const answers = await alternate(id, 'n0', 100);
      expect(codes(answers)).toEqual(['ALREADY_EXISTS', 'OK']);
      await expectNothingLost();
    },
    LIMIT_MS,
  );

  it(
    'create an execution of one name once, when both are asked at the same time',
    async () => {
      const names = Array.from({ length: 20 }, (_, at) => `same-${at}`);
      const pairs = await Promise.all(
        names.map((name) =>
          Promise.all([first(), other()].map((each) => each.attempt(method.createExecution, helloRequest(name)))),
        ),
      );
      for (const pair of pairs) expect(codes(pair)).toEqual(['ALREADY_EXISTS', 'OK']);
      const created = (await two.events()).filter(
        ({ type, stream }) => type === 'ExecutionCreated' && stream.includes(':same-'),
      );
      expect(created).toHaveLength(names.length);
    },
    LIMIT_MS,
  );

  it(
    'have one active version of a launch plan at most, whichever process activates it',
    async () => {
      const recorded = fromBinary(
        LaunchPlanCreateRequestSchema,
        fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'launch_plan')!.bytes,
      );
      const versions = ['a', 'b', 'c', 'd'].map((version) => ({ ...recorded.id!, name: 'hello.switched', version }));
      for (const [at, id] of versions.entries()) await api(at).call(method.createLaunchPlan, { ...recorded, id });
      // Of the four versions, three are switched; every fifth change deactivates.
      const change = (turn: number) =>
        api(turn).attempt(method.updateLaunchPlan, {
          id: versions[turn % 3]!,
          state: turn % 5 === 0 ? LaunchPlanState.INACTIVE : LaunchPlanState.ACTIVE,
        });
      const answers = await Promise.all(Array.from({ length: 60 }, (_, turn) => change(turn)));
      expect(codes(answers)).toEqual(['OK']);

      let active = '';
      let activations = 0;
      for (const { type, data, stream } of await two.events()) {
        if (!stream.endsWith(':hello.switched')) continue;
        if (type === 'LaunchPlanDeactivated') active = '';
        if (type !== 'LaunchPlanActivated') continue;
        const { id, deactivatedVersion } = fromBinary(LaunchPlanActivatedSchema, data);
        expect(deactivatedVersion).toBe(active);
        active = id!.version;
        activations += 1;
      }
      expect(activations).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );

  it('record one event for each change of a launch plan, though the other process has made the last one', async () => {
    const { entries } = fixtureFolder('01-hello');
    const { id } = fromBinary(LaunchPlanCreateRequestSchema, entries.find(({ kind }) => kind === 'launch_plan')!.bytes);
    const changes = async () => (await two.events()).filter(({ type }) => type.startsWith('LaunchPlan')).length;
    for (let turn = 0; turn < 6; turn += 1) {
      const before = await changes();
      await api(turn).call(method.updateLaunchPlan, {
        id: id!,
        state: turn % 2 === 0 ? LaunchPlanState.ACTIVE : LaunchPlanState.INACTIVE,
      });
      expect(await changes()).toBe(before + 1);
    }
  });

  it(
    'keep to the limit of a launch plan together',
    async () => {
      const recorded = fromBinary(
        LaunchPlanCreateRequestSchema,
        fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'launch_plan')!.bytes,
      );
      const policy = { max: 2, behavior: ConcurrencyLimitBehavior.SKIP };
      await first().call(method.createLaunchPlan, {
        ...recorded,
        id: { ...recorded.id!, name: 'hello.limited' },
        spec: { ...recorded.spec!, concurrencyPolicy: { $typeName: 'platformidl.admin.ConcurrencyPolicy', ...policy } },
      });
      const launch = (turn: number, round: number) =>
        api(turn).attempt(
          method.createExecution,
          helloRequest(`limited-${round}-${turn}`, ({ spec }) => (spec!.launchPlan!.name = 'hello.limited')),
        );
      for (let round = 0; round < 3; round += 1) {
        const answers = await Promise.all(Array.from({ length: 12 }, (_, turn) => launch(turn, round)));
        const running = answers.flatMap(({ code }, turn) => (code === 'OK' ? [turn] : []));
        expect(running).toHaveLength(2);
        // Either process gets the report of the end; the other uses the released slot.
        for (const turn of running)
          await api(turn).call(
            method.createWorkflowEvent,
            workflowReport(idOf(`limited-${round}-${turn}`), { phase: Phase.FAILED }),
          );
      }
    },
    LIMIT_MS,
  );

  it(
    'count executions of an old version for the limit of a new version, which the other process registers',
    async () => {
      const recorded = fromBinary(
        LaunchPlanCreateRequestSchema,
        fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'launch_plan')!.bytes,
      );
      const policy = { max: 1, behavior: ConcurrencyLimitBehavior.SKIP };
      for (let round = 0; round < 5; round += 1) {
        const name = `hello.limited-later-${round}`;
        const version = (version: string, spec: object) =>
          toBinary(
            LaunchPlanCreateRequestSchema,
            create(LaunchPlanCreateRequestSchema, {
              id: { ...recorded.id!, name, version },
              spec: { ...recorded.spec!, ...spec },
            }),
          );
        const launch = (execution: string, version: string) =>
          toBinary(
            method.createExecution.input,
            create(
              method.createExecution.input,
              helloRequest(execution, ({ spec }) => Object.assign(spec!.launchPlan!, { name, version })),
            ),
          );
        await first().send('CreateLaunchPlan', version('v1', {}));
        expect((await other().send('CreateExecution', launch(`unlimited-${round}`, 'v1'))).code).toBe('OK');
        const { position } = await first().send(
          'CreateLaunchPlan',
          version('v2', {
            concurrencyPolicy: { $typeName: 'platformidl.admin.ConcurrencyPolicy', ...policy },
          }),
        );
        const old = await other().send('CreateExecution', launch(`old-${round}`, 'v1'), {
          'flightlog-min-position': position!,
        });
        expect(old.code).toBe('OK');
        const tooMany = await first().send('CreateExecution', launch(`new-${round}`, 'v2'));
        expect(tooMany.message).toContain('concurrency limit (1) reached');
      }
    },
    LIMIT_MS,
  );

  it(
    'keep the slot of an execution that both were asked to create',
    async () => {
      const recorded = fromBinary(
        LaunchPlanCreateRequestSchema,
        fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'launch_plan')!.bytes,
      );
      const policy = { max: 1, behavior: ConcurrencyLimitBehavior.SKIP };
      await first().call(method.createLaunchPlan, {
        ...recorded,
        id: { ...recorded.id!, name: 'hello.once' },
        spec: { ...recorded.spec!, concurrencyPolicy: { $typeName: 'platformidl.admin.ConcurrencyPolicy', ...policy } },
      });
      const launch = (turn: number, name: string) =>
        api(turn).attempt(
          method.createExecution,
          helloRequest(name, ({ spec }) => (spec!.launchPlan!.name = 'hello.once')),
        );
      for (let round = 0; round < 8; round += 1) {
        const name = `once-${round}`;
        const answers = await Promise.all([0, 1, 2, 3].map((turn) => launch(turn, name)));
        expect(codes(answers)).toEqual(['ALREADY_EXISTS', 'OK']);
        const more = await launch(round, `once-too-many-${round}`);
        expect(more.message).toContain('concurrency limit (1) reached');
        await api(round).call(method.createWorkflowEvent, workflowReport(idOf(name), { phase: Phase.FAILED }));
      }
    },
    LIMIT_MS,
  );

  it(
    'agree on the end of an execution that one terminates while the other gets a report of it',
    async () => {
      for (let round = 0; round < 10; round += 1) {
        const id = await launchHello(api(round), `ended-${round}`);
        const [terminated, succeeded] = await Promise.all([
          api(round).attempt(method.terminateExecution, { id, cause: 'enough' }),
          api(round + 1).attempt(method.createWorkflowEvent, workflowReport(id, { phase: Phase.SUCCEEDED })),
        ]);
        expect(succeeded.code).toBe('OK');
        const recorded = (await two.events())
          .filter(({ stream }) => stream.endsWith(`:ended-${round}`))
          .map(({ type }) => type);
        const isAborted = recorded.includes('TerminationRequested');
        expect(terminated.code).toBe(isAborted ? 'OK' : 'FAILED_PRECONDITION');
        expect(recorded.at(-1)).toBe('WorkflowPhaseReported');
        // Both processes refuse to continue the execution.
        for (const each of [first(), other()]) {
          const late = await each.attempt(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
          expect(late.code).toBe('FAILED_PRECONDITION');
        }
      }
    },
    LIMIT_MS,
  );
});
