import { timestampMs } from '@bufbuild/protobuf/wkt';
import type {
  BatchAppendReq,
  BatchAppendReq_Options as Options,
} from '../../../../proto/gen/event_store/client/streams_pb.js';
import type { UUID } from '../../../../proto/gen/event_store/client/values_pb.js';
import { OutcomeUnknown } from '../../../kernel/fault.js';
import { invalid, missing, RpcError } from '../../../kernel/rpc.js';
import { launchAppend, type LaunchedAppend, type AppendServices } from './append.js';
import { gathering, proposedEvent, writeTargetOf } from './append-request.js';
import { type BatchAppendRequest, failureAnswer, successAnswer } from './batch-answer.js';
import { assertWithoutNul } from '../request-text.js';

/** An append whose final message has not arrived. */
type Open = BatchAppendRequest & { readonly gathered: ReturnType<typeof gathering>; error?: Error };

/** The pending answer to a complete append, whose order among the appends is settled. */
export type Answering = { readonly answer: Promise<Buffer> };

/**
 * The longest wait for the outcome of a launched append, in milliseconds; less when the client's deadline left less as
 * the final message of the append arrived.
 */
const MAX_WAIT_MS = 10_000;

/** The maximum of incomplete appends on one batch stream; a client that opens more is taken to be faulty. */
const MAX_OPEN = 100;

const waitMs = ({ deadlineOption }: Options, nowMs: number): number => {
  if (deadlineOption.case === 'deadlineAt') return timestampMs(deadlineOption.value) - nowMs;
  if (deadlineOption.case !== 'deadline') return MAX_WAIT_MS;
  return Number(deadlineOption.value.seconds) * 1_000 + deadlineOption.value.nanos / 1e6;
};

const inTime = async <Value>(work: Promise<Value>, ms: number): Promise<Value> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new OutcomeUnknown('the deadline has passed')), Math.max(0, ms));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

const keyOf = (id: UUID | undefined): string => {
  const value = id?.value;
  if (value?.case === 'string') {
    assertWithoutNul('correlation_id', value.value);
    return value.value;
  }
  if (value?.case === 'structured') return `${value.value.mostSignificantBits}:${value.value.leastSignificantBits}`;
  throw missing('correlation_id');
};

/** Opens a batch stream; the result takes its messages one by one and gives `undefined` until an append is complete. */
export const openBatchStream = (
  writing: AppendServices,
): ((request: BatchAppendReq) => Promise<Answering | undefined>) => {
  const open = new Map<string, Open>();

  const opened = (key: string, { correlationId, options }: BatchAppendReq): Open => {
    const known = open.get(key);
    if (known) return known;
    if (options === undefined) throw missing('options');
    if (open.size >= MAX_OPEN) throw invalid('correlation_id', `more than ${MAX_OPEN} appends are open`);
    const fresh: Open = { correlationId, options, gathered: gathering() };
    open.set(key, fresh);
    return fresh;
  };

  const gather = ({ proposedMessages }: BatchAppendReq, append: Open): void => {
    try {
      for (const message of proposedMessages) append.gathered.add(proposedEvent(message, writing.now()));
    } catch (error) {
      append.error ??= error as Error;
    }
  };

  const launch = async (append: Open, ms: number): Promise<LaunchedAppend> => {
    if (append.error !== undefined) throw append.error;
    if (ms <= 0)
      throw new RpcError(
        'DEADLINE_EXCEEDED',
        'the deadline passed before the append was sent whole: nothing was written',
      );
    return launchAppend(writing, { ...writeTargetOf(append.options), events: append.gathered.events() });
  };

  return async (request) => {
    const key = keyOf(request.correlationId);
    const append = opened(key, request);
    gather(request, append);
    if (!request.isFinal) return undefined;
    open.delete(key);
    const ms = Math.min(MAX_WAIT_MS, waitMs(append.options, writing.now()));
    const refused = (thrown: unknown): Buffer => failureAnswer(append, thrown);
    try {
      const { outcome } = await launch(append, ms);
      return { answer: inTime(outcome, ms).then((written) => successAnswer(append, written), refused) };
    } catch (thrown) {
      return { answer: Promise.resolve(refused(thrown)) };
    }
  };
};
