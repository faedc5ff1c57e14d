import { EventEmitter, once } from 'node:events';

import { create, toBinary } from '@bufbuild/protobuf';

import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Serving,
  HealthCheckResponseSchema,
} from '../../../proto/gen/grpc/health/v1/health_pb.js';
import { route, RpcError } from '../../kernel/rpc.js';
import { decode } from '../decode.js';
import { type Endpoint, endpointOf } from '../routes.js';

/** The interval at which the status is checked for watchers, in milliseconds. */
const CHECK_MS = 500;

// The empty name stands for the server; probes of existing installations use `flyteadmin`.
const NAMES = new Set(['', 'flyteadmin']);

/** The endpoints of the health service, and its shutdown. */
export type HealthService = {
  readonly endpoints: readonly Endpoint[];
  /** Ends the calls of all watchers, after NOT_SERVING where that is not their last status: the server shuts down. */
  readonly shutDown: () => void;
};

const answer = (status: Serving) => create(HealthCheckResponseSchema, { status });
const encoded = (status: Serving): Uint8Array => toBinary(HealthCheckResponseSchema, answer(status));

/** Makes `grpc.health.v1.Health`: SERVING while `isReady()` is true and the server is not shutting down. */
export const healthService = (isReady: () => boolean): HealthService => {
  const { check, watch } = Health.method;
  const statusChecks = new EventEmitter().setMaxListeners(0);
  const timer = setInterval(() => statusChecks.emit('check'), CHECK_MS).unref();
  let isShuttingDown = false;
  const now = () => (!isShuttingDown && isReady() ? Serving.SERVING : Serving.NOT_SERVING);

  const watched = async function* (
    requests: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncIterable<Uint8Array> {
    let sent: Serving | undefined;
    for await (const request of requests) {
      const { service } = decode(HealthCheckRequestSchema, request);
      sent = NAMES.has(service) ? now() : Serving.SERVICE_UNKNOWN;
      yield encoded(sent);
    }
    while (!isShuttingDown) {
      await once(statusChecks, 'check', { signal });
      if (sent === Serving.SERVICE_UNKNOWN || sent === now()) continue;
      sent = now();
      yield encoded(sent);
    }
    if (sent !== Serving.NOT_SERVING) yield encoded(Serving.NOT_SERVING);
  };

  const checked = route(check, ({ service }) => {
    if (!NAMES.has(service)) throw new RpcError('NOT_FOUND', `unknown service ${service}`);
    return Promise.resolve(answer(now()));
  });
  const watching = {
    method: watch,
    takes: 'stream',
    open: (requests: AsyncIterable<Uint8Array>, _call: unknown, signal: AbortSignal) => watched(requests, signal),
  } as const;
  return {
    endpoints: [endpointOf(check, checked), endpointOf(watch, watching)],
    shutDown: () => {
      isShuttingDown = true;
      clearInterval(timer);
      statusChecks.emit('check');
    },
  };
};
