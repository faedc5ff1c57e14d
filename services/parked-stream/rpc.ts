import { create } from '@bufbuild/protobuf';

import {
  OperationsService,
  ParkedStreamAnswerSchema,
  type ParkedStreamRequest,
} from '../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { contextOf } from '../kernel/command-context.js';
import { FORMAT_WITH_RETRIES } from '../kernel/log-format.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import type { Sessions } from '../kernel/ports/sessions.js';
import { type Call, invalid, missing, route, type Route, RpcError } from '../kernel/rpc.js';
import type { StreamName } from '../kernel/stream.js';
import { parkedStreamAggregate } from './decider.js';
import { RETRIES_STREAM } from './events.js';

export type ParkedStreamServices = {
  readonly sessions: Pick<Sessions, 'handle'>;
  readonly log: Pick<EventLog, 'readStream'>;
  /** The format that the log is written in. */
  readonly format: () => number;
};

const assertFormat = (format: number): void => {
  if (format >= FORMAT_WITH_RETRIES) return;
  throw new RpcError(
    'FAILED_PRECONDITION',
    `the log is written in format ${format}, which has no requests to retry: switch it with \`flightlog log format --to ${FORMAT_WITH_RETRIES}\`, or restart the processes, which read the stream again when they start`,
  );
};

const assertStreamExists = async ({ log }: ParkedStreamServices, stream: string): Promise<void> => {
  for await (const [event] of log.readStream(stream as StreamName, { limit: 1 })) if (event) return;
  throw new RpcError('NOT_FOUND', `there is no stream ${stream}`);
};

/**
 * Records the request for all processes. The stream has to exist, but need not be parked here: another process may have
 * parked it.
 */
const retry = async (services: ParkedStreamServices, { stream }: ParkedStreamRequest, call: Call) => {
  if (stream === '') throw missing('stream');
  // The binding of the embedded log ends a text at its first NUL, so it would find another stream.
  if (stream.includes('\0')) throw invalid('stream', 'it has a NUL character');
  assertFormat(services.format());
  await assertStreamExists(services, stream);
  const command = { type: 'RetryParkedStream', stream } as const;
  const outcome = await services.sessions.handle(parkedStreamAggregate, RETRIES_STREAM, command, contextOf(call));
  call.answeredAt(outcome.position);
  return create(ParkedStreamAnswerSchema);
};

export const parkedStreamRoutes = (services: ParkedStreamServices): readonly Route[] => [
  route(OperationsService.method.retryParkedStream, (request, call) => retry(services, request, call)),
];
