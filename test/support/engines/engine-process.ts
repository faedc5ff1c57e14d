import { appendFileSync } from 'node:fs';
import { fromBinary } from '@bufbuild/protobuf';

import { TaskExecutionEventRequestSchema } from '../../../proto/gen/platformidl/admin/event_pb.js';
import { TaskExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { TaskExecutionEvent } from '../../../proto/gen/platformidl/event/event_pb.js';
import { runEngine } from '../../../engine/engine.js';
import type { EventWatch } from '../../../engine/options.js';

/**
 * The options of a process that runs a simulated engine of the group `default` until SIGTERM; its only argument, as
 * JSON.
 */
export type EngineProcessOptions = {
  /** The gRPC address of the control plane. */
  readonly endpoint: string;
  /** The name of the engine in its group. */
  readonly name: string;
  /** Events per second. */
  readonly rate: number;
  /**
   * The file to which the engine appends a line for each recorded start of an attempt, also one that it reports again,
   * for each refused event, and when it stops, for each execution that it has given up.
   */
  readonly journal: string;
};

/** The task event in a request; a request of another kind does not name a task at that place. */
const taskEventIn = (request: Uint8Array): TaskExecutionEvent | undefined => {
  try {
    const { event } = fromBinary(TaskExecutionEventRequestSchema, request);
    return (event?.taskId?.name ?? '') === '' ? undefined : event;
  } catch {
    return undefined;
  }
};

/** The attempt that an event starts, when it is the first RUNNING. */
const startedBy = (request: Uint8Array): string | undefined => {
  const event = taskEventIn(request);
  const { executionId, nodeId } = event?.parentNodeExecutionId ?? {};
  if (event?.phase !== Phase.RUNNING || event.phaseVersion > 0 || executionId === undefined) return undefined;
  return [executionId.project, executionId.domain, executionId.name, nodeId, event.retryAttempt].join('/');
};

const { journal, endpoint, name, rate } = JSON.parse(process.argv[2] ?? '{}') as EngineProcessOptions;

const watch: EventWatch = {
  sending: () => undefined,
  answered: (request, answer) => {
    const started = startedBy(request);
    if (answer === 'refused') appendFileSync(journal, 'refused\n');
    else if (started !== undefined) appendFileSync(journal, `started ${started}\n`);
  },
};

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
const ignore = (): void => undefined;
const { dropped } = await runEngine(
  {
    ...{ endpoint, rate, concurrency: 16, failureProbability: 0.05, seed: 'feed', gates: 'auto', untilIdle: false },
    feed: { group: 'default', name },
  },
  { signal: stop.signal, logger: { debug: ignore, info: ignore, warn: ignore }, watch },
);
for (const [execution, why] of dropped) appendFileSync(journal, `dropped ${execution} ${why}\n`);
