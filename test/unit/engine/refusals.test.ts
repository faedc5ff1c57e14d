import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { describe, expect, it, vi } from 'vitest';

import { StatusSchema } from '../../../proto/gen/google/rpc/status_pb.js';
import { type EventFailureReason, EventFailureReasonSchema } from '../../../proto/gen/platformidl/admin/event_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { createActiveExecutions } from '../../../engine/active-executions.js';
import { CallError } from '../../../engine/call-error.js';
import type { InterfaceClient } from '../../../engine/client.js';
import { readDynamicClosures } from '../../../engine/definitions.js';
import { ExecutionLost } from '../../../engine/execution-lost.js';
import { createCounters, type EngineOptions } from '../../../engine/options.js';
import { createReporter } from '../../../engine/reporter.js';
import { createRetries } from '../../../engine/retries.js';
import { walkActiveExecution } from '../../../engine/walk-execution.js';
import { createWorkerPool } from '../../../engine/worker-pool.js';
import { fixtureExecutions, registeredWorld } from './world.js';

const executions = fixtureExecutions(registeredWorld());
const closures = readDynamicClosures('test/fixtures/06-dynamic/dynamic');
const ID = { project: 'flytesnacks', domain: 'development', name: 'run' };
const KEY = 'flytesnacks/development/run';

const OPTIONS: EngineOptions = {
  ...{ endpoint: '', concurrency: 10, rate: 0, failureProbability: 0, seed: 'seed', gates: 'wait', untilIdle: false },
};

type Reason = NonNullable<EventFailureReason['reason']['case']>;

/** The error of a report that the server refuses, with a reason in its details if one is given. */
const refusal = (code: status, reason?: Reason): CallError => {
  const metadata = new Metadata();
  if (reason !== undefined) {
    const value = toBinary(
      EventFailureReasonSchema,
      create(EventFailureReasonSchema, { reason: { case: reason, value: {} } }),
    );
    const details = [{ typeUrl: 'type.googleapis.com/platformidl.admin.EventFailureReason', value }];
    metadata.set('grpc-status-details-bin', Buffer.from(toBinary(StatusSchema, create(StatusSchema, { details }))));
  }
  return new CallError({ code, details: 'no', metadata } as ServiceError, 0 /* retries */);
};

/** `node n1 RUNNING`, `task n1 RUNNING` or `workflow RUNNING`. */
const nameOf = (method: { readonly name: string; readonly input: DescMessage }, bytes: Uint8Array): string => {
  const { event } = fromBinary(method.input, bytes) as unknown as {
    event: { id?: { nodeId: string }; parentNodeExecutionId?: { nodeId: string }; phase: number };
  };
  if (method.name === 'CreateNodeEvent') return `node ${event.id!.nodeId} ${NodePhase[event.phase]}`;
  if (method.name === 'CreateTaskEvent') return `task ${event.parentNodeExecutionId!.nodeId} ${TaskPhase[event.phase]}`;
  return `workflow ${Phase[event.phase]}`;
};

/** Waits for turns of the event loop. */
const turns = async (count: number): Promise<void> => {
  for (let left = count; left > 0; left -= 1) await new Promise(setImmediate);
};

/**
 * An engine with the execution of this name in the fixtures. `refuse` gives the error that a report is answered with, if
 * any, and `state.phase` is the phase that the server answers.
 */
const engineOf = (execution: string, refuse: (report: string) => CallError | undefined) => {
  const { launched } = executions.find(({ name }) => name === execution)!;
  const sent: string[] = [];
  /** Resolves when the next report may be sent. */
  let paced = Promise.resolve();
  const state = { phase: Phase.QUEUED };
  const answers: Readonly<Record<string, () => object>> = {
    GetExecution: () => ({ id: ID, closure: { phase: state.phase, workflowId: {} } }),
    GetExecutionData: () => ({ fullInputs: launched.inputs }),
    GetOrCreateSignal: () => ({}),
  };
  const client: InterfaceClient = {
    close: () => undefined,
    call: <Output extends DescMessage>(method: {
      readonly name: string;
      readonly output: Output;
    }): Promise<MessageShape<Output>> =>
      Promise.resolve(create(method.output, answers[method.name]!() as MessageInitShape<Output>)),
    send: async (method, bytes) => {
      const report = nameOf(method, bytes);
      sent.push(report);
      await turns(1);
      const error = refuse(report);
      if (error) throw error;
      return 0;
    },
  };
  const logger = { debug: () => undefined, info: () => undefined, warn: vi.fn() };
  const active = createActiveExecutions();
  const retries = createRetries(logger);
  const needs = {
    ...{ client, options: OPTIONS, signal: new AbortController().signal, logger, dynamicClosures: closures },
    report: createReporter({ client, counters: createCounters(), logger }),
    pace: () => (paced = paced.then(() => turns(3))), // each report is answered before the next is sent
    isActive: () => false,
    onLaunch: () => undefined,
    activeCount: () => 1,
    leasedAt: () => undefined,
    definitionOf: () => Promise.resolve(launched.closure),
  };
  const errors: unknown[] = [];
  const workers = createWorkerPool({
    ...{ active, retries, capacity: 1, onEnd: () => undefined },
    walk: (walked, execution) =>
      walkActiveExecution(needs, walked, execution.id).catch((error: unknown) => {
        errors.push(error);
        throw error;
      }),
  });
  const start = (): void => {
    workers.offer({ id: ID } as never);
    workers.fill();
  };
  return { start, workers, active, sent, state, logger, retries, errors };
};

/** The errors of a walk that has ended because the execution is lost for this reason. */
const isLost = (reason: string) => [expect.objectContaining({ name: 'ExecutionLost', why: reason }) as unknown];

describe('an engine', () => {
  it('whose lease is lost sends nothing more, also while the execution waits', async () => {
    const { start, workers, active, sent, errors } = engineOf('editorial-run', () => undefined);
    start();
    await vi.waitFor(() => expect(active.all.get(KEY)?.waiting).toBe('gate'));
    const before = sent.length;
    workers.lose(KEY, new ExecutionLost('fenced', 'another engine has it'));
    await workers.settled();
    expect(sent).toHaveLength(before);
    expect([errors, active.all.size]).toEqual([isLost('fenced'), 0]);
  });

  it('sends nothing more about an execution once a report was refused because the engine does not have the lease', async () => {
    const { start, workers, sent, errors, retries } = engineOf('diamond-remote-data', (report) =>
      report === 'node n1 QUEUED' ? refusal(status.FAILED_PRECONDITION, 'incompatibleCluster') : undefined,
    );
    start();
    await workers.settled();
    expect(sent.at(-1)).toBe('node n1 QUEUED'); // not n2, which is queued in the same round
    expect([errors, retries.pending()]).toEqual([isLost('fenced'), 0]);
  });

  it('ends a walk when a report about a node is refused as too late, because the execution has ended', async () => {
    const { start, workers, sent, state, errors } = engineOf('editorial-run', (report) => {
      if (report !== 'node n0 QUEUED') return undefined;
      state.phase = Phase.ABORTED;
      return refusal(status.FAILED_PRECONDITION, 'alreadyInTerminalState');
    });
    start();
    await workers.settled();
    expect(errors).toEqual(isLost('ended'));
    expect(sent.filter((report) => report.startsWith('task'))).toEqual([]);
  });

  it('continues a walk when a report about a node is refused as too late, because only the node has ended', async () => {
    const { start, workers, sent, errors } = engineOf('diamond-remote-data', (report) =>
      report === 'node n0 RUNNING' ? refusal(status.FAILED_PRECONDITION, 'alreadyInTerminalState') : undefined,
    );
    start();
    await workers.settled();
    expect([errors, sent.at(-1)]).toEqual([[], 'workflow SUCCEEDED']);
  });

  it.each(['INVALID_ARGUMENT', 'RESOURCE_EXHAUSTED'] as const)(
    'logs once that a report is never accepted, and fails the execution: status %s',
    async (code) => {
      const { start, workers, sent, logger, errors, retries } = engineOf('diamond-remote-data', (report) =>
        report.startsWith('task n0') ? refusal(status[code]) : undefined,
      );
      start();
      await workers.settled();
      expect(sent.at(-1)).toBe('workflow FAILED');
      expect(sent).toContain('node n0 ABORTED');
      expect(sent.filter((report) => report.startsWith('node n1'))).toEqual([]);
      expect(logger.warn).toHaveBeenCalledTimes(1);
      expect([errors, retries.dropped.size]).toEqual([[], 0]);
    },
  );

  it('gives up an execution at once when its failure is never accepted either', async () => {
    const { start, workers, errors, retries } = engineOf('diamond-remote-data', (report) =>
      report.startsWith('workflow') ? refusal(status.INVALID_ARGUMENT) : undefined,
    );
    start();
    await workers.settled();
    expect(errors).toEqual(isLost('invalid'));
    expect([...retries.dropped.keys()]).toEqual([KEY]);
  });
});
