import type { GatewayLog } from '../log.js';
import type { PositionTokens } from '../position-token.js';
import { audit } from './audit.js';
import { authenticate } from './authenticate.js';
import { authorize } from './authorize.js';
import { deadline } from './deadline.js';
import type { Interceptor } from './dispatch.js';
import { type HashLarge, idempotency } from './idempotency.js';
import { memoryBudget } from './memory-budget.js';
import { awaitPosition, type Follower, readPosition } from './min-position.js';
import { receive } from './receive.js';
import { reportFaults } from './report-faults.js';

/** What the interceptors of a process stand on. */
export type InterceptorServices = {
  readonly logger: GatewayLog;
  readonly positions: PositionTokens;
  /** What commands wait for; nothing where it is not given. */
  readonly known?: readonly Follower[] | undefined;
  /** Hashes large requests that have an idempotency key away from the thread that serves. */
  readonly hashLarge?: HashLarge | undefined;
  /** What watches every call from outside all others: metrics, the request log. */
  readonly observers?: readonly Interceptor[];
};

/**
 * All interceptors of a call in their order. Those before `receive` know the call by its headers alone, those after it
 * know the request.
 */
export const interceptorsOf = (services: InterceptorServices): readonly Interceptor[] => [
  ...(services.observers ?? []),
  audit,
  deadline,
  reportFaults(services.logger),
  memoryBudget,
  authenticate,
  readPosition(services.positions),
  receive,
  authorize,
  awaitPosition(services.known ?? []),
  idempotency(services.hashLarge),
];
