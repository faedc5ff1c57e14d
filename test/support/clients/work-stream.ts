import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Client, type ClientDuplexStream, credentials, Metadata, status, type StatusObject } from '@grpc/grpc-js';

import {
  type WorkJoinSchema,
  type WorkLease,
  WorkRequestSchema,
  type WorkResponse,
  WorkResponseSchema,
} from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';

type Request = NonNullable<MessageInitShape<typeof WorkRequestSchema>['message']>;
type Response = WorkResponse['message'];
type Case = NonNullable<Response['case']>;
type ValueOf<Name extends Case> = Extract<Response, { readonly case: Name }>['value'];

/** The status of a stream. */
export type Ended = { readonly code: keyof typeof status; readonly message: string };

/** A stream of `EngineService.Work` on which the test acts as the engine. */
export type WorkStream = {
  readonly call: ClientDuplexStream<Buffer, Buffer>;
  readonly send: (message: Request) => void;
  /** Everything that was received, in its order. */
  readonly received: readonly Response[];
  /**
   * Takes the next message of a kind, which may have arrived before.
   *
   * @throws {Error} when the stream ends without it.
   */
  readonly next: <Name extends Case>(name: Name) => Promise<ValueOf<Name>>;
  readonly ended: Promise<Ended>;
  /** Closes the connection without a `leave` message. */
  readonly drop: () => void;
};

const PATH = '/platformidl.eventlog.EngineService/Work';
const asIs = (bytes: Buffer): Buffer => bytes;

/** Opens a stream to `EngineService.Work`, and joins. */
export const openWork = (endpoint: string, join: MessageInitShape<typeof WorkJoinSchema>): WorkStream => {
  const client = new Client(endpoint, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const call = client.makeBidiStreamRequest(PATH, asIs, asIs, new Metadata());
  const received: Response[] = [];
  const waiting: Response[] = [];
  const state: { end?: Ended; wake: () => void } = { wake: () => undefined };
  call.on('data', (bytes: Buffer) => {
    const { message } = fromBinary(WorkResponseSchema, bytes);
    received.push(message);
    waiting.push(message);
    state.wake();
  });
  call.on('error', () => undefined); // the status reports it
  const ended = new Promise<Ended>((resolve) => {
    call.on('status', ({ code, details }: StatusObject) => {
      state.end = { code: status[code] as Ended['code'], message: details };
      resolve(state.end);
      state.wake();
      client.close();
    });
  });
  const send = (message: Request): void =>
    void call.write(Buffer.from(toBinary(WorkRequestSchema, create(WorkRequestSchema, { message }))));
  send({ case: 'join', value: join });
  return {
    call,
    send,
    received,
    ended,
    next: async (name) => {
      for (;;) {
        const at = waiting.findIndex((message) => message.case === name);
        if (at >= 0) return waiting.splice(at, 1)[0]!.value as never;
        if (state.end) throw new Error(`the stream has ended without ${name}: ${JSON.stringify(state.end)}`);
        await new Promise<void>((resolve) => (state.wake = resolve));
      }
    },
    drop: () => {
      call.cancel();
      client.close();
    },
  };
};

/** The name of an execution that a lease is for. */
export const nameOf = (lease: WorkLease | undefined): string => lease?.execution?.name ?? '';
