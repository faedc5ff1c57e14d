import { convertToCommandError, type EventStoreDBClient } from '@eventstore/db-client';
import {
  type CallOptions,
  type Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  makeGenericClientConstructor,
  type Metadata,
  type ServiceClientConstructor,
} from '@grpc/grpc-js';
import { type AppendAnswer, appendAnswer } from './append-answer.js';
import { type ReadAnswer, readAnswer } from './read-answer.js';
import { type Asked, readRequest } from './read-request.js';

/** A read or subscription that is open. */
export type ReadCall = ClientReadableStream<ReadAnswer>;

/** A stream of appends that is open. */
export type AppendCall = ClientDuplexStream<Buffer, AppendAnswer>;

const asIs = (bytes: Buffer): Buffer => bytes;
const never = (): never => {
  throw new Error('a client answers nothing');
};

const SERVICE = '/event_store.client.streams.Streams';

/** The calls that carry events; the library has its own way to encode and decode them, which takes thrice as long. */
const EventCalls = makeGenericClientConstructor(
  {
    read: {
      path: `${SERVICE}/Read`,
      requestStream: false,
      responseStream: true,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: never,
      responseDeserialize: readAnswer,
    },
    batchAppend: {
      path: `${SERVICE}/BatchAppend`,
      requestStream: true,
      responseStream: true,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: never,
      responseDeserialize: appendAnswer,
    },
  },
  'Streams',
);

type Stub = Client & {
  read(request: Buffer, ...how: [Metadata, CallOptions]): ReadCall;
  batchAppend(...how: [Metadata, CallOptions]): AppendCall;
};

/** What the library has for its own calls: it opens them on its connection, and hears of their errors. */
type Internals = {
  GRPCStreamCreator<Call>(
    stub: ServiceClientConstructor,
    name: string,
    open: (stub: Stub) => Call,
  ): () => Promise<Call>;
  callArguments(options: { readonly requiresLeader?: boolean }, call: CallOptions): [Metadata, CallOptions];
};

const opened = <Call>(
  client: EventStoreDBClient,
  requiresLeader: boolean,
  open: (stub: Stub, how: [Metadata, CallOptions]) => Call,
): Promise<Call> => {
  const internals = client as unknown as Internals;
  const how = internals.callArguments({ requiresLeader }, { deadline: Infinity });
  return internals.GRPCStreamCreator(EventCalls, 'events', (stub) => open(stub, how))();
};

/** Opens a read or a subscription with the client's connection and credentials. */
export const openRead = (client: EventStoreDBClient, asked: Asked): Promise<ReadCall> =>
  opened(client, asked.requiresLeader === true, (stub, how) => stub.read(readRequest(asked), ...how));

/** Opens a stream of appends with the client's connection and credentials. */
export const openAppends = (client: EventStoreDBClient): Promise<AppendCall> =>
  opened(client, true, (stub, how) => stub.batchAppend(...how));

/** The library's error for one of a call. */
export const callError = (error: unknown): unknown => (error instanceof Error ? convertToCommandError(error) : error);
