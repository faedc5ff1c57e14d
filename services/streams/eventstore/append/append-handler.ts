import {
  AppendReqSchema,
  AppendRespSchema,
  BatchAppendReqSchema,
} from '../../../../proto/gen/event_store/client/streams_pb.js';
import type { EncodedCall, EncodedHandler } from '../../../kernel/ports/encoded-calls.js';
import { invalid, missing } from '../../../kernel/rpc.js';
import { launchAppend, type AppendServices, type AppendResult } from './append.js';
import {
  type AppendRequest,
  type Expected,
  gathering,
  proposedEvent,
  type WriteTarget,
  writeTargetOf,
} from './append-request.js';
import { writtenFields } from './batch-answer.js';
import { openBatchStream } from './batch-append.js';
import { decoded, empty, encodedMessage } from '../codec.js';
import { WrongVersion } from '../failure.js';
import { type Shutdown, unlessSignalled } from '../shutdown.js';

const expectedOption = (expected: Expected) => {
  if (typeof expected === 'bigint') return { case: 'expectedRevision', value: expected } as const;
  const names = {
    any: 'expectedAny',
    'no-stream': 'expectedNoStream',
    'stream-exists': 'expectedStreamExists',
  } as const;
  return { case: names[expected], value: empty } as const;
};

const success = (written: AppendResult): Buffer =>
  encodedMessage(AppendRespSchema, { result: { case: 'success', value: writtenFields(written) } });

/** Encodes a revision conflict, which is a regular answer of Append and not an error status. */
const conflict = ({ current }: WrongVersion, expected: Expected): Buffer =>
  encodedMessage(AppendRespSchema, {
    result: {
      case: 'wrongExpectedVersion',
      value: {
        currentRevisionOption:
          current === undefined
            ? { case: 'currentNoStream', value: empty }
            : { case: 'currentRevision', value: current },
        expectedRevisionOption: expectedOption(expected),
      },
    },
  });

const requestOf = async (call: EncodedCall, writing: AppendServices): Promise<AppendRequest> => {
  let target: WriteTarget | undefined;
  const gathered = gathering();
  for await (const bytes of call.requests()) {
    const { content } = decoded(AppendReqSchema, bytes);
    if (content.case === 'options') target = writeTargetOf(content.value);
    else if (content.case === undefined) throw invalid('content', 'one of options and proposed_message is needed');
    else gathered.add(proposedEvent(content.value, writing.now()));
  }
  if (target === undefined) throw missing('options');
  return { ...target, events: gathered.events() };
};

const append = async (writing: AppendServices, call: EncodedCall): Promise<void> => {
  const request = await requestOf(call, writing);
  try {
    const { outcome } = await launchAppend(writing, request);
    await call.send(success(await outcome));
  } catch (thrown) {
    if (!(thrown instanceof WrongVersion)) throw thrown;
    await call.send(conflict(thrown, request.expected));
  }
};

/** Serves Append: one append for each call. */
export const appendHandler =
  (writing: AppendServices, { overdue }: Shutdown): EncodedHandler =>
  (call) =>
    unlessSignalled(append(writing, call), overdue);

/** The maximum of appends in flight on one batch stream; at the maximum, the stream is not read. */
const MAX_IN_FLIGHT = 512;

/** The messages of a batch stream that are being handled, each until its answer is sent, if it gets one. */
type InFlight = Set<Promise<unknown>>;

/** Takes messages until the shutdown begins, and sends each answer when its append is written or has failed. */
const takeAll = async (
  writing: AppendServices,
  call: EncodedCall,
  { inFlight, begun }: { readonly inFlight: InFlight; readonly begun: AbortSignal },
): Promise<void> => {
  const take = openBatchStream(writing);
  for await (const bytes of call.requests()) {
    if (begun.aborted) return;
    const taken = take(decoded(BatchAppendReqSchema, bytes));
    const sent = taken
      .then(async (answering) => answering && call.send(await answering.answer))
      .finally(() => inFlight.delete(sent));
    // Fails with `taken`, which is awaited below, or when the client has disconnected, which also ends its requests.
    sent.catch(() => undefined);
    inFlight.add(sent);
    await taken;
    if (inFlight.size >= MAX_IN_FLIGHT) await Promise.race(inFlight);
  }
};

/** Runs a batch stream. Answers every append that was launched, also when a shutdown ends the stream. */
const answerAll = async (writing: AppendServices, call: EncodedCall, { begun }: Shutdown): Promise<void> => {
  const inFlight: InFlight = new Set();
  try {
    await unlessSignalled(takeAll(writing, call, { inFlight, begun }), begun);
  } finally {
    await Promise.allSettled(inFlight);
  }
};

/** Serves BatchAppend: any number of appends on one stream. */
export const batchAppendHandler =
  (writing: AppendServices, shutdown: Shutdown): EncodedHandler =>
  (call) =>
    unlessSignalled(answerAll(writing, call, shutdown), shutdown.overdue);
