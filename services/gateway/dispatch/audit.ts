import type { AuditEntry, AuditTrail } from '../../kernel/ports/audit-trail.js';
import { rpcFailureOf } from '../status.js';
import type { DispatchedCall } from './call.js';
import { isCommand } from './requirement.js';
import type { Interceptor } from './dispatch.js';

/** The services of the audit. */
export type Audit = {
  readonly trail: Pick<AuditTrail, 'record'>;
  /** True where a proxy in front adds the addresses of clients to `X-Forwarded-For`. */
  readonly isBehindProxy: boolean;
};

const REFUSALS: ReadonlySet<string> = new Set(['UNAUTHENTICATED', 'PERMISSION_DENIED']);

/** True for the status of a call that was refused because of its caller. */
export const isRefusal = (code: string): boolean => REFUSALS.has(code);

/** The longest text of a request, or with a part of it, that is recorded, in characters. */
const MAX_TEXT = 256;

/** Cuts a text of a request, or with a part of it, to the length that is recorded. */
export const recordedText = (text: string): string => text.slice(0, MAX_TEXT);

/** The address of the client; behind a proxy, the last one in `X-Forwarded-For`, if that is sent. */
export const addressOf = (
  { header, peer }: Pick<DispatchedCall, 'header' | 'peer'>,
  isBehindProxy: boolean,
): string => {
  const forwarded = isBehindProxy ? header('x-forwarded-for')?.split(',').at(-1)?.trim() : undefined;
  return forwarded ?? peer?.() ?? '';
};

type Result = Pick<AuditEntry, 'code' | 'reason'>;

/**
 * The code and reason of a failed call. The message of an error that is no refusal may repeat the request: it is left
 * out. Of the request, a refusal has at most the project and domain.
 */
const resultOf = (thrown: unknown, { endpoint }: DispatchedCall): Result => {
  const { code, message } = rpcFailureOf(thrown, endpoint.method);
  return { code, reason: isRefusal(code) ? recordedText(message) : '' };
};

const OK: Result = { code: 'OK', reason: '' };

const entryOf = (call: DispatchedCall, result: Result, isBehindProxy: boolean): AuditEntry => {
  const { endpoint, transport, principal, caller, requestId, request } = call;
  const now = Date.now();
  const { project, domain, name } = endpoint.targetOf(request);
  return {
    ...{ kind: 'call', atMs: now, lastAtMs: now, count: 1, ...result },
    ...{ principal, issuer: caller?.identity.issuer ?? '', clientId: caller?.identity.clientId ?? '' },
    ...{ transport, address: addressOf(call, isBehindProxy), action: endpoint.name },
    ...{ project: recordedText(project), domain: recordedText(domain), name: recordedText(name) },
    ...{ requestId: recordedText(requestId), position: call.position },
  };
};

/**
 * Records for auditors each call of a person or program that changes something or tries to, and each call that was
 * refused because of its caller. Reports of engines are in the log, with their actor; here they are recorded when they
 * are refused.
 */
export const auditCalls = (services: Audit | undefined): Interceptor => {
  if (!services) return (_call, next) => next();
  const { trail, isBehindProxy } = services;
  return (call, next) => {
    const answer = next();
    const records = isCommand(call.endpoint);
    const record = (result: Result): void => {
      if (records || isRefusal(result.code)) trail.record(entryOf(call, result, isBehindProxy));
    };
    answer.then(
      () => record(OK),
      (thrown: unknown) => record(resultOf(thrown, call)),
    );
    return answer;
  };
};
