import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { executionCodec } from '../../execution/events.js';
import { decodeEvent, recordedMetadata } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { StreamName } from '../../kernel/stream.js';
import { type MeasuredReactor, whenDue } from '../frame/when-due.js';
import type { WorkResult } from '../frame/work-queue.js';
import { longRunningContent, type NotifiableEvent, phaseBrought, readContent } from './message-content.js';
import { messagesAbout, withoutDuplicates } from './recipients.js';
import { begunMessages } from './records.js';
import { type NotifyOptions, sending } from './sending.js';
import { EXECUTION_CATEGORY } from '../../kernel/execution-id.js';

export type LongRunningOptions = NotifyOptions & {
  /** Time in milliseconds, counted from when the phase RUNNING was recorded. */
  readonly afterMs: number;
  /** True while the execution of a stream is in the phase RUNNING. */
  readonly isRunning: (stream: StreamName) => Promise<boolean>;
};

type Item = { readonly cause: NotifiableEvent; readonly recordedAtMs: number };

const TYPES = ['WorkflowPhaseReported', 'EngineReported'];

/** Executions that are looked at, at a time. */
const CONCURRENCY = 16;

const itemOf = (event: RecordedEvent): Item | undefined => {
  if (phaseBrought(decodeEvent(executionCodec, event)) !== Phase.RUNNING) return undefined;
  const { stream, revision } = event;
  return { cause: { stream, revision }, recordedAtMs: recordedMetadata(event).recordedAtMs };
};

/**
 * Sends the messages about executions that are still running `afterMs` after their phase RUNNING was recorded, to the
 * recipients of rules. The waiting times are due times of events of the log, which a restart reads again.
 */
export const notifyLongRunning = ({ isRunning, ...options }: LongRunningOptions): MeasuredReactor => {
  const { sessions, afterMs } = options;
  const { routing, send, reactorOf } = sending(options);

  /** The messages of rules; once the execution is no longer RUNNING, only those that were begun are finished. */
  const work = async ({ cause, recordedAtMs }: Item): Promise<WorkResult> => {
    const isDue = await isRunning(cause.stream);
    const found = await readContent(cause, options);
    if (!found) return undefined;
    const content = longRunningContent(found, afterMs);
    const begun = await begunMessages(sessions, content);
    const runningLongerThan = durationFromMs(afterMs);
    const wanted = isDue ? messagesAbout(content, routing).map((key) => ({ ...key, runningLongerThan })) : [];
    return send(withoutDuplicates([...begun, ...wanted]), content, recordedAtMs + afterMs);
  };

  const filter = { categories: [EXECUTION_CATEGORY], types: TYPES };
  return reactorOf(whenDue<Item>({ ...options, filter, concurrency: CONCURRENCY, itemOf, work }));
};
