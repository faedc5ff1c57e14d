import { randomUUID } from 'node:crypto';

import type { Aggregate } from './aggregate.js';
import { priorUse } from './idempotency.js';
import { type Call, invalid } from './rpc.js';
import type { CommandContext, Sessions } from './ports/sessions.js';
import type { StreamName } from './stream.js';

/** A request's command. The caller may send one request id twice, so the command has an id of its own. */
export const contextOf = (call: Call): CommandContext => ({
  actor: call.principal,
  commandId: randomUUID(),
  correlationId: call.requestId,
  ...(call.idempotency && { idempotency: call.idempotency }),
  isCancelled: () => call.isCancelled(),
});

/** The key of a request stands for another one. */
export const keyTaken = (): Error => invalid('idempotency-key', 'it stands for another request');

/**
 * Where a request stands in the log that was recorded under its key before, about all of its stream. For commands that
 * rest on more than their stream: what they rest on may have changed, and the first answer stands.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the key stands for another request.
 */
export const recordedBefore = async <State, Command, Event, Refusal>(
  sessions: Sessions,
  aggregate: Aggregate<State, Command, Event, Refusal>,
  stream: StreamName,
  { principal, idempotency }: Call,
): Promise<bigint | undefined> => {
  if (idempotency === undefined) return undefined;
  const { prior, position } = await sessions.read(aggregate, stream, (folded) => ({
    prior: folded.keys === undefined ? 'none' : priorUse(folded.keys, principal, '', idempotency),
    position: folded.position,
  }));
  if (prior === 'another') throw keyTaken();
  return prior === 'same' ? position : undefined;
};
