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
import { type ReadParameters, readRequest } from './read-request.js';

/** An open read or subscription. */
export type ReadCall = ClientReadableStream<ReadAnswer>;

/** An open batch stream. */
export type AppendCall = ClientDuplexStream<Buffer, AppendAnswer>;

const asIs = (bytes: Buffer): Buffer => bytes;
const never = (): never => {
  throw new Error('a client answers nothing');
};

const SERVICE = '/event_store.client.streams.Streams';

/** The calls that carry events, with our own codec; that of the library takes three times as long. */
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

/** Internals of the library's client, used so that it opens our calls on its connection and handles their errors. */
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

/** Opens a read or a subscription on the client's connection, with its credentials. */
export const openRead = (client: EventStoreDBClient, asked: ReadParameters): Promise<ReadCall> =>
  opened(client, asked.requiresLeader === true, (stub, how) => stub.read(readRequest(asked), ...how));

/** Opens a batch stream to the leader on the client's connection, with its credentials. */
export const openAppends = (client: EventStoreDBClient): Promise<AppendCall> =>
  opened(client, true, (stub, how) => stub.batchAppend(...how));

/** Converts the error of a call to an error of the library. */
export const callError = (error: unknown): unknown => (error instanceof Error ? convertToCommandError(error) : error);
