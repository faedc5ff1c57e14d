import { randomUUID } from 'node:crypto';

import type { Call } from './rpc.js';
import type { CommandContext } from './sessions.js';

/** A request's command. The caller may send one request id twice, so the command has an id of its own. */
export const contextOf = (call: Call): CommandContext => ({
  actor: call.principal,
  commandId: randomUUID(),
  correlationId: call.requestId,
  ...(call.idempotencyKey !== undefined && { idempotencyKey: call.idempotencyKey }),
  isCancelled: () => call.isCancelled(),
});
