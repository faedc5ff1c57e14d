import { randomUUID } from 'node:crypto';

import type { Aggregate } from './aggregate.js';
import { previousUse } from './idempotency.js';
import { type Call, invalid } from './rpc.js';
import type { CommandContext, Sessions } from './ports/sessions.js';
import type { StreamName } from './stream.js';

/** The command context of a request. Clients may reuse a request id, so each command gets an id of its own. */
export const contextOf = (call: Call): CommandContext => ({
  actor: call.principal,
  commandId: randomUUID(),
  correlationId: call.requestId,
  traceParent: call.traceParent,
  ...(call.idempotency && { idempotency: call.idempotency }),
  isCancelled: () => call.isCancelled(),
});

/** The idempotency key was already used with a different request. */
export const keyTaken = (): Error => invalid('idempotency-key', 'already used with a different request');

/**
 * Finds a request that was already recorded under its idempotency key, with the whole stream as its target. For
 * commands that depend on more than their stream: those other facts may have changed since, and the first result must
 * be kept.
 *
 * @returns the position of the stream's last event when the same request was recorded; `undefined` when it was not, or
 * the call has no idempotency key.
 * @throws {RpcError} INVALID_ARGUMENT when the key was used with a different request.
 */
export const recordedBefore = async <State, Command, Event, Refusal>(
  sessions: Sessions,
  aggregate: Aggregate<State, Command, Event, Refusal>,
  stream: StreamName,
  { principal, idempotency }: Pick<Call, 'principal' | 'idempotency'>,
): Promise<bigint | undefined> => {
  if (idempotency === undefined) return undefined;
  const { prior, position } = await sessions.read(aggregate, stream, (folded) => ({
    prior: folded.keys === undefined ? 'none' : previousUse(folded.keys, principal, '', idempotency),
    position: folded.position,
  }));
  if (prior === 'another') throw keyTaken();
  return prior === 'same' ? position : undefined;
};
