import { isDeepStrictEqual } from 'node:util';

import { fromBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { executions } from '../../../projections/executions/projection.js';
import type { ReadModel } from '../../../projections/runtime/read-model.js';
import type { StoredDocument } from '../../../projections/runtime/read-store.js';
import { nodeExecutions } from '../../../projections/node-executions/projection.js';
import { taskExecutions } from '../../../projections/task-executions/projection.js';
import { ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  NodeExecutionEventSchema,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../../proto/gen/platformidl/event/event_pb.js';
import type { ExecutionEvent } from '../../../services/execution/events.js';
import { isTerminal } from '../../../services/execution/phases.js';
import type { ExecutionState } from '../../../services/execution/state.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { modelOf, taskKey } from '../../support/views/independent-model.js';
import { documentsAfter } from '../../support/views/run-views.js';
import { differences, seenNode, seenTask } from '../../support/views/view-check.js';
import { creation, expiry, id, openStream, taskId, termination } from '../execution/reports.js';
import {
  executionFacts,
  addExecutionFacts,
  type Facts,
  nodeFacts,
  addNodeFacts,
  taskFacts,
  addTaskFacts,
} from './facts.js';
import { anyReports, endReport, interleaved, reportsBySubject, type DrawnReport } from './drawn-reports.js';

/** The number of sequences of reports that each test draws. */
const numRuns = Number(process.env['FLIGHTLOG_TEST_LAW_RUNS'] ?? 120);
/** In milliseconds, for each test. */
const timeout = 30_000 + numRuns * 50;

type Run = ReturnType<typeof openStream>;
type AnyModel = ReadModel<never>;

const MODELS = [executions, nodeExecutions, taskExecutions] as unknown as readonly AnyModel[];

/** A stream that has answered these reports, after the creation of its execution. */
const runOf = async (...drawn: readonly DrawnReport[]): Promise<Run> => {
  const run = openStream(creation);
  for (const { command } of drawn) await run.refusal(command());
  return run;
};

/** The recorded reports of an engine, in order. */
const reports = (events: readonly ExecutionEvent[]) =>
  events.flatMap(({ data }, revision) => ('messageHash' in data ? [{ report: data, revision }] : []));
type Report = ReturnType<typeof reports>[number]['report'];
const bytesOf = ({ message }: Report): Uint8Array => message.content.value as Uint8Array;

/** Columns that hold the revision of an event, which differs when the events come in another order. */
const REVISION_COLUMNS: ReadonlySet<string> = new Set(['inputs_at', 'outputs_at', 'dynamic_at']);

/** The documents without the positions of their events; a revision is replaced by the content of the event at it. */
const comparableViews = (run: Run, size = Infinity) => {
  const events = run.events();
  const contentAt = (revision: unknown): string | null => {
    const event = typeof revision === 'number' ? events[revision] : undefined;
    return event && 'messageHash' in event.data ? Buffer.from(bytesOf(event.data)).toString('hex') : null;
  };
  const fieldsOf = ({ fields }: StoredDocument) =>
    Object.entries(fields)
      .filter(([name]) => name !== 'recorded')
      .map(([name, value]) => [name, REVISION_COLUMNS.has(name) ? contentAt(value) : value] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1));
  return MODELS.map((model) =>
    [...documentsAfter(model, run.recorded, size)]
      .map(([key, document]) => {
        const { response, listElement, foldState } = document;
        const bytes = [response, listElement, foldState].map((each) => each && Buffer.from(each).toString('hex'));
        return JSON.stringify([key, fieldsOf(document), bytes]);
      })
      .sort(),
  );
};

/** The documents of a view, decoded, by their keys. */
const loaded = <Document>(model: ReadModel<Document>, run: Run): ReadonlyMap<string, Document> =>
  new Map([...documentsAfter(model, run.recorded)].map(([key, stored]) => [key, model.decode(stored)]));

const logOf = (recorded: readonly RecordedEvent[]): EventLog =>
  ({
    async *readLog() {
      yield await Promise.resolve({ events: recorded, position: BigInt(recorded.length) });
    },
  }) as unknown as EventLog;

/** `''` for the execution, the id of a node, or `<node id>/<task name>/<attempt>`. */
const keyOf = ({ nodeId, taskId: id, retryAttempt }: Report): string =>
  id === undefined ? nodeId : `${nodeId}/${id.name}/${retryAttempt}`;

/** For each entity, the function that adds the facts of an event to those of the entity. */
const addFacts: Readonly<Record<Report['entity'], (facts: Facts, bytes: Uint8Array, isNewPhase: boolean) => void>> = {
  workflow: (facts, bytes, isNewPhase) =>
    addExecutionFacts(facts, fromBinary(WorkflowExecutionEventSchema, bytes), isNewPhase),
  node: (facts, bytes, isNewPhase) => addNodeFacts(facts, fromBinary(NodeExecutionEventSchema, bytes), isNewPhase),
  task: (facts, bytes, isNewPhase) => addTaskFacts(facts, fromBinary(TaskExecutionEventSchema, bytes), isNewPhase),
};

/** The facts of all recorded reports, by entity; those of the execution itself have the empty key. */
const factsOfEvents = (run: Run): ReadonlyMap<string, Facts> => {
  const found = new Map<string, Facts>();
  for (const { report } of reports(run.events())) {
    const key = keyOf(report);
    const facts = found.get(key) ?? new Map<string, unknown>();
    found.set(key, facts);
    addFacts[report.entity](facts, bytesOf(report), !report.samePhase);
  }
  return found;
};

/** The phases in the state that decisions use. */
const phasesOf = ({ phase, nodes }: ExecutionState) => ({
  execution: phase,
  ...Object.fromEntries([...nodes].map(([name, { phase }]) => [name, phase])),
  ...Object.fromEntries(
    [...nodes].flatMap(([name, { tasks }]) =>
      tasks.map(({ id, attempt, phase }) => [`${name}/${id.name}/${attempt}`, phase]),
    ),
  ),
});

const nodesOf = (run: Run) =>
  [...loaded(nodeExecutions, run).values()].map((document) => [document.node.id!.nodeId, document] as const);
const tasksOf = (run: Run) =>
  [...loaded(taskExecutions, run).values()].map((document) => {
    const { nodeExecutionId, retryAttempt } = document.task.id!;
    return [`${nodeExecutionId!.nodeId}/${taskId.name}/${retryAttempt}`, document] as const;
  });

describe("the views of an engine's reports", () => {
  it('do not change when a report is repeated, in whatever order its maps are encoded', { timeout }, async () => {
    let repeated = 0;
    await fc.assert(
      fc.asyncProperty(anyReports, fc.infiniteStream(fc.nat()), async (drawn, chance) => {
        const [once, again] = [openStream(creation), openStream(creation)];
        const recorded: DrawnReport[] = [];
        for (const each of drawn) {
          await once.refusal(each.command());
          const before = again.recorded.length;
          await again.refusal(each.command());
          if (again.recorded.length > before) recorded.push(each);
          const earlier = recorded[(chance.next().value ?? 0) % Math.max(recorded.length, 1)];
          if (earlier === undefined) continue;
          expect((await again.refusal(earlier.command(true)))?.kind).toBe('phase-recorded');
          repeated += 1;
        }
        expect(comparableViews(again)).toEqual(comparableViews(once));
      }),
      { numRuns },
    );
    expect(repeated).toBeGreaterThan(numRuns);
  });

  it('are the same in whatever order independent reports arrive', { timeout }, async () => {
    let differ = 0;
    await fc.assert(
      fc.asyncProperty(
        reportsBySubject,
        fc.option(endReport, { nil: undefined }),
        fc.array(fc.nat(), { minLength: 50, maxLength: 50 }),
        fc.array(fc.nat(), { minLength: 50, maxLength: 50 }),
        async (parts, end, ...chances) => {
          const [one, other] = await Promise.all(
            chances.map((chance) => {
              let at = 0;
              const order = interleaved(parts, () => chance[at++ % chance.length] ?? 0);
              return runOf(...order, ...(end === undefined ? [] : [end]));
            }),
          );
          expect(comparableViews(other!)).toEqual(comparableViews(one!));
          if (!isDeepStrictEqual(reports(other!.events()), reports(one!.events()))) differ += 1;
        },
      ),
      { numRuns },
    );
    expect(differ).toBeGreaterThan(numRuns / 4);
  });

  it('are the same however the events are batched', { timeout }, async () => {
    let batches = 0;
    await fc.assert(
      fc.asyncProperty(anyReports, fc.integer({ min: 1, max: 7 }), async (drawn, size) => {
        const run = await runOf(...drawn);
        expect(comparableViews(run, size)).toEqual(comparableViews(run));
        batches += Math.ceil(run.recorded.length / size) - 1;
      }),
      { numRuns },
    );
    expect(batches).toBeGreaterThan(numRuns);
  });

  it('show what an independent model computes from the log', { timeout }, async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(
        anyReports,
        fc.nat(60),
        fc.constantFrom(termination, expiry, undefined),
        async (drawn, at, end) => {
          const run = openStream(creation);
          for (const [index, { command }] of drawn.entries()) {
            if (index === at && end !== undefined) await run.refusal(end);
            await run.refusal(command());
          }
          const [document] = documentsAfter(executions, run.recorded).values();
          const { closure } = fromBinary(ExecutionSchema, document!.response);
          const nodes = [...loaded(nodeExecutions, run).values()].map(({ node, parent, parentTask }) => {
            const nodeParent = parent === parentTask ? '' : (parent.split('/')[1] ?? '');
            return [node.id!.nodeId, seenNode(node, nodeParent)] as const;
          });
          const tasks = [...loaded(taskExecutions, run).values()].map(({ task }) => {
            const { nodeExecutionId, taskId: id, retryAttempt } = task.id!;
            return [taskKey(nodeExecutionId!.nodeId, id, retryAttempt), seenTask(task)] as const;
          });
          const startedAtMs = closure?.startedAt && timestampMs(closure.startedAt);
          const seen = {
            phase: closure!.phase,
            ...(startedAtMs !== undefined && { startedAtMs }),
            nodes: new Map(nodes),
            tasks: new Map(tasks),
          };
          const model = await modelOf(logOf(run.recorded), ({ content }) =>
            Promise.resolve(content.value as Uint8Array),
          );
          const expected = model.get(`${id.project}/${id.domain}/${id.name}`)!;
          expect(differences('run', expected, seen)).toEqual([]);
          compared += nodes.length + tasks.length;
        },
      ),
      { numRuns },
    );
    expect(compared).toBeGreaterThan(numRuns);
  });

  it('have every fact of the recorded reports', { timeout }, async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(anyReports, async (drawn) => {
        const run = await runOf(...drawn);
        const [document] = loaded(executions, run).values();
        const shown = new Map([
          ['', executionFacts(document!.execution)] as const,
          ...nodesOf(run).map(([key, { node }]) => [key, nodeFacts(node)] as const),
          ...tasksOf(run).map(([key, { task }]) => [key, taskFacts(task)] as const),
        ]);
        for (const [key, facts] of factsOfEvents(run)) {
          expect(Object.fromEntries(shown.get(key) ?? []), key).toMatchObject(Object.fromEntries(facts));
          compared += facts.size;
        }
      }),
      { numRuns },
    );
    expect(compared).toBeGreaterThan(5 * numRuns);
  });

  it('have the phases of the state that decisions use', { timeout }, async () => {
    let [compared, inferred] = [0, 0];
    await fc.assert(
      fc.asyncProperty(anyReports, endReport, async (drawn, end) => {
        const run = await runOf(...drawn, end);
        const [document] = loaded(executions, run).values();
        const seen = {
          execution: document!.execution.closure!.phase,
          ...Object.fromEntries(nodesOf(run).map(([key, { node }]) => [key, node.closure!.phase])),
          ...Object.fromEntries(tasksOf(run).map(([key, { task }]) => [key, task.closure!.phase])),
        };
        expect(seen).toEqual(phasesOf(run.state()));
        compared += Object.keys(seen).length;
        for (const [, { closedBy, node }] of nodesOf(run)) {
          if (closedBy === '') continue;
          expect(isTerminal('node', node.closure!.phase)).toBe(true);
          inferred += 1;
        }
      }),
      { numRuns },
    );
    expect(compared).toBeGreaterThan(numRuns);
    expect(inferred).toBeGreaterThan(numRuns / 10);
  });
});
