import { createRequire } from 'node:module';

import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { flyteidl as Published } from '@flyteorg/flyteidl/gen/pb-js/flyteidl.js';

// A CommonJS file whose one export is not seen from outside.
const require = createRequire(import.meta.url);

/** The published package: its messages, and clients of its services that somebody else has generated. */
export const { flyteidl } = require('@flyteorg/flyteidl/gen/pb-js/flyteidl.js') as { flyteidl: typeof Published };

/** The answer to a call; `message` is the text of a status other than OK. */
export type PublishedAnswer = {
  readonly code: keyof typeof status;
  readonly message: string;
  readonly answer: Readonly<Record<string, unknown>>;
};

type Rpc = (request: object) => Promise<Readonly<Record<string, unknown>>>;
type Service = Readonly<Record<string, Rpc>>;

export type PublishedClient = {
  /** Calls `AdminService.GetTask` by the generated client, with a message or a plain object. */
  readonly call: (rpc: string, request: object) => Promise<PublishedAnswer>;
  readonly close: () => void;
};

const asIs = (bytes: Buffer): Buffer => bytes;

const lowerFirst = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

type Done = (error: Error | null, response?: Uint8Array) => void;

/** RPCs whose answer is a stream: the generated client hears of each message of it, and so of the first. */
const STREAMS = new Set(['ExecuteTaskSync', 'GetTaskLogs']);

/** What the generated client asks of its user: to carry the bytes of a request to an RPC, and its answer back. */
const carry =
  (client: Client, service: string) =>
  (method: { readonly name: string }, request: Uint8Array, done: Done): void => {
    const path = `/flyteidl.service.${service}/${method.name}`;
    if (!STREAMS.has(method.name)) {
      client.makeUnaryRequest(path, asIs, asIs, Buffer.from(request), new Metadata(), (error, response) =>
        done(error, response),
      );
      return;
    }
    const stream = client.makeBidiStreamRequest(path, asIs, asIs, new Metadata());
    let first: Buffer = Buffer.alloc(0); // of a stream without any, an empty message
    stream.once('data', (response: Buffer) => (first = response));
    stream.once('end', () => done(null, first));
    stream.once('error', done);
    stream.write(Buffer.from(request));
    stream.end();
  };

const isStatus = (error: unknown): error is ServiceError =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' && error.code in status;

/** The published JavaScript client, over gRPC with the library's defaults. */
export const publishedClient = (address: string): PublishedClient => {
  const client = new Client(address, credentials.createInsecure());
  const services = flyteidl.service as unknown as Readonly<Record<string, { create: (carrier: unknown) => Service }>>;
  return {
    call: async (rpc, request) => {
      const [service = '', method = ''] = rpc.split('.');
      const generated = services[service]!.create(carry(client, service));
      try {
        const answer = await generated[lowerFirst(method)]!.call(generated, request);
        return { code: 'OK', message: '', answer };
      } catch (error) {
        if (!isStatus(error)) throw error;
        const { code, details } = error;
        return { code: status[code] as keyof typeof status, message: details, answer: {} };
      }
    },
    close: () => client.close(),
  };
};

type Encoded = { finish(): Uint8Array };
type Encoder = { readonly encode: (message: object) => Encoded };

/** A message or plain object as the bytes that the published package makes of it. */
export const encodePublished = (typeName: string, message: object): Uint8Array => {
  const [, folder = '', name = ''] = typeName.split('.');
  const messages = flyteidl as unknown as Readonly<Record<string, Readonly<Record<string, Encoder>>>>;
  return messages[folder]![name]!.encode(message).finish();
};
