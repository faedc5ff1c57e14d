import { type handleServerStreamingCall, type handleUnaryCall, type ServerWritableStream } from '@grpc/grpc-js';
import { create, toBinary } from '@bufbuild/protobuf';

import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Serving,
  HealthCheckResponseSchema,
} from '../../proto/gen/grpc/health/v1/health_pb.js';
import { RpcError } from '../kernel/rpc.js';
import { decode } from './decode.js';
import { grpcError } from './grpc-trailer.js';
import { OWN_PACKAGE } from './rpc-status.js';
import { failureOf } from './status.js';

// The empty name is the server; the other is what probes of existing installations ask for.
const NAMES = new Set(['', 'flyteadmin']);

type Watcher = ServerWritableStream<Buffer, Buffer>;

/** The health service: what it answers, and how it learns that the server is going. */
export type Health = {
  readonly check: handleUnaryCall<Buffer, Buffer>;
  readonly watch: handleServerStreamingCall<Buffer, Buffer>;
  /** Tells all watchers that the server is going, and lets them go. */
  readonly leave: () => void;
};

const encode = (status: Serving): Buffer =>
  Buffer.from(toBinary(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status })));

const nameIn = (request: Buffer): string => decode(HealthCheckRequestSchema, request).service;

/** `grpc.health.v1.Health` of a server that is ready when `isReady` says so, until it leaves. */
export const healthService = (isReady: () => boolean): Health => {
  const watchers = new Set<Watcher>();
  let isLeaving = false;
  const now = () => (!isLeaving && isReady() ? Serving.SERVING : Serving.NOT_SERVING);
  const failure = (thrown: unknown) => grpcError(failureOf(thrown), OWN_PACKAGE);
  return {
    check: ({ request }, respond) => {
      try {
        const name = nameIn(request);
        if (!NAMES.has(name)) throw new RpcError('NOT_FOUND', `unknown service ${name}`);
        respond(null, encode(now()));
      } catch (thrown) {
        respond(failure(thrown));
      }
    },
    watch: (call: Watcher) => {
      try {
        call.write(encode(NAMES.has(nameIn(call.request)) ? now() : Serving.SERVICE_UNKNOWN));
        watchers.add(call);
        call.on('cancelled', () => watchers.delete(call));
      } catch (thrown) {
        call.destroy(failure(thrown));
      }
    },
    leave: () => {
      isLeaving = true;
      for (const call of watchers) {
        call.write(encode(Serving.NOT_SERVING));
        call.end();
      }
      watchers.clear();
    },
  };
};
