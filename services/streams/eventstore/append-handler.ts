import type {
  handleBidiStreamingCall,
  handleClientStreamingCall,
  ServerDuplexStream,
  ServerReadableStream,
} from '@grpc/grpc-js';
import {
  AppendReqSchema,
  AppendRespSchema,
  BatchAppendReqSchema,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import { invalid, missing } from '../../kernel/rpc.js';
import { launchAppend, type AppendServices, type AppendResult } from './append.js';
import {
  type AppendRequest,
  type Expected,
  gathering,
  proposedEvent,
  type Target,
  targetOf,
} from './append-request.js';
import { type Answering, batchAppends } from './batch-append.js';
import { decoded, encodedAs } from './codec.js';
import { failedCall, type StreamsLog } from './failed-call.js';
import { WrongVersion } from './failure.js';
import { positionFields } from './recorded.js';
import { type Shutdown, unlessSignalled } from './shutdown.js';
import { empty } from './uuid.js';

const expectedOption = (expected: Expected) => {
  if (typeof expected === 'bigint') return { case: 'expectedRevision', value: expected } as const;
  const names = {
    any: 'expectedAny',
    'no-stream': 'expectedNoStream',
    'stream-exists': 'expectedStreamExists',
  } as const;
  return { case: names[expected], value: empty } as const;
};

const success = ({ revision, position }: AppendResult): Buffer =>
  encodedAs(AppendRespSchema, {
    result: {
      case: 'success',
      value: {
        currentRevisionOption:
          revision === undefined ? { case: 'noStream', value: empty } : { case: 'currentRevision', value: revision },
        positionOption: { case: 'position', value: positionFields(position) },
      },
    },
  });

/** Encodes a revision conflict, which is a regular answer of Append and not an error status. */
const conflict = ({ current }: WrongVersion, expected: Expected): Buffer =>
  encodedAs(AppendRespSchema, {
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

type AppendCall = ServerReadableStream<Buffer, Buffer>;

const requestOf = async (call: AppendCall, writing: AppendServices): Promise<AppendRequest> => {
  let target: Target | undefined;
  const gathered = gathering();
  for await (const bytes of call as AsyncIterable<Buffer>) {
    const { content } = decoded(AppendReqSchema, bytes);
    if (content.case === 'options') target = targetOf(content.value);
    else if (content.case === undefined) throw invalid('content', 'one of options and proposed_message is needed');
    else gathered.add(proposedEvent(content.value, writing.now()));
  }
  if (target === undefined) throw missing('options');
  return { ...target, events: gathered.events() };
};

const append = async (writing: AppendServices, call: AppendCall): Promise<Buffer> => {
  const request = await requestOf(call, writing);
  try {
    const { outcome } = await launchAppend(writing, request);
    return success(await outcome);
  } catch (thrown) {
    if (thrown instanceof WrongVersion) return conflict(thrown, request.expected);
    throw thrown;
  }
};

/** Serves Append: one append for each call. */
export const appendHandler =
  (writing: AppendServices, { overdue }: Shutdown, log: StreamsLog): handleClientStreamingCall<Buffer, Buffer> =>
  (call, respond) =>
    void unlessSignalled(append(writing, call), overdue).then(
      (answer) => respond(null, answer),
      (thrown: unknown) => respond(failedCall(log, 'Append', thrown)),
    );

/** The maximum of appends in flight on one batch stream; at the maximum, the stream is not read. */
const MAX_IN_FLIGHT = 512;

type BatchCall = ServerDuplexStream<Buffer, Buffer>;

/** Reads messages and sends each answer when its append is written; a failure of either ends the stream. */
const takeAll = async (writing: AppendServices, call: BatchCall, inFlight: Set<Promise<unknown>>): Promise<void> => {
  const take = batchAppends(writing);
  const send = async ({ answer }: Answering): Promise<void> => {
    call.write(await answer);
  };
  // A client may end its side before it has all answers, which must not end the call.
  for await (const bytes of call.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    const answering = await take(decoded(BatchAppendReqSchema, bytes));
    if (answering === undefined) continue;
    const sent: Promise<unknown> = send(answering).finally(() => inFlight.delete(sent));
    sent.catch((error: unknown) => call.destroy(error as Error));
    inFlight.add(sent);
    if (inFlight.size >= MAX_IN_FLIGHT) await Promise.race(inFlight);
  }
};

/** Runs a batch stream. Answers every append that was launched, also when a shutdown ends the stream. */
const answerAll = async (writing: AppendServices, call: BatchCall, { begun }: Shutdown): Promise<void> => {
  const inFlight = new Set<Promise<unknown>>();
  try {
    await unlessSignalled(takeAll(writing, call, inFlight), begun);
  } finally {
    await Promise.all(inFlight);
  }
};

/** Serves BatchAppend: any number of appends on one stream. */
export const batchAppendHandler =
  (writing: AppendServices, shutdown: Shutdown, log: StreamsLog): handleBidiStreamingCall<Buffer, Buffer> =>
  (call) =>
    void unlessSignalled(answerAll(writing, call, shutdown), shutdown.overdue).then(
      () => call.end(),
      (thrown: unknown) => {
        if (!call.cancelled) call.emit('error', failedCall(log, 'BatchAppend', thrown));
      },
    );
