import type { Authentication } from '../../kernel/ports/authentication.js';
import type { GatewayLog } from '../log.js';
import type { PositionTokens } from '../position-token.js';
import { type Audit, auditCalls } from './audit.js';
import { authenticate } from './authenticate.js';
import { authorize } from './authorize.js';
import { deadline } from './deadline.js';
import type { Interceptor } from './dispatch.js';
import { type HashLarge, idempotency } from './idempotency.js';
import { memoryBudget } from './memory-budget.js';
import { awaitPosition, type CommandAdmission, type Follower, readPosition } from './min-position.js';
import { receive } from './receive.js';
import { reportFaults } from './report-faults.js';

/** The services that the interceptors of a process use. */
export type InterceptorServices = {
  readonly logger: GatewayLog;
  readonly positions: PositionTokens;
  /** Authenticates callers; without it, every caller may do everything. */
  readonly authentication?: Authentication | undefined;
  /** Records changes and refusals; none without it. */
  readonly audit?: Audit | undefined;
  /** The log followers that a command with a minimum position waits for; none by default. */
  readonly followers?: readonly Follower[] | undefined;
  /** Admits commands before they wait. */
  readonly admission?: CommandAdmission | undefined;
  /** Hashes large requests with an idempotency key on another thread. */
  readonly hashLarge?: HashLarge | undefined;
  /** Outermost interceptors, which see every call: metrics, spans, the request log. */
  readonly observers?: readonly Interceptor[];
};

/**
 * Lists all interceptors of a call, the outermost first. The call has its request once `receive` has passed it on.
 */
export const interceptorsOf = (services: InterceptorServices): readonly Interceptor[] => [
  ...(services.observers ?? []),
  auditCalls(services.audit),
  deadline,
  reportFaults(services.logger),
  memoryBudget,
  authenticate(services.authentication),
  readPosition(services.positions),
  receive,
  authorize(services.authentication),
  awaitPosition({ followers: services.followers ?? [], admission: services.admission }),
  idempotency(services.hashLarge),
];
