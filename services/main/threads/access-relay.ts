import type { MessagePort } from 'node:worker_threads';
import { denied } from '../../kernel/permitted.js';
import type { Authentication } from '../../kernel/ports/authentication.js';
import { RpcError, type StatusCode } from '../../kernel/rpc.js';
import type { Admit, StreamsPermission } from '../../streams/eventstore/guard.js';

type Asked = {
  readonly id: number;
  readonly authorization: string | undefined;
  readonly permission: StreamsPermission;
};

type Answered =
  | { readonly id: number; readonly expiresAt: number | undefined }
  | { readonly id: number; readonly code: StatusCode; readonly message: string };

type Waiting = { readonly resolve: (expiresAt: number | undefined) => void; readonly reject: (error: Error) => void };

const EVERYWHERE = { project: '', domain: '' };

const BASIC = /^basic +(\S+) *$/iu;

/** Official clients send a user and a password; the password is then the token. */
const asBearer = (authorization: string | undefined): string | undefined => {
  const [, encoded] = BASIC.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return authorization;
  const [, ...password] = Buffer.from(encoded, 'base64').toString().split(':');
  return `Bearer ${password.join(':')}`;
};

/** Admits callers with a valid token and the permission in every project. */
export const admitting =
  (authentication: Authentication): Admit =>
  async (authorization, permission) => {
    const header = asBearer(authorization);
    const caller = await authentication.callerOf((name) => (name === 'authorization' ? header : undefined));
    if (!caller.access.may(permission, '', '')) throw denied(permission, EVERYWHERE);
    return caller.identity.expiresAt;
  };

/** The client end: asks the thread that authenticates. */
export const relayedAdmit = (port: MessagePort): Admit => {
  const waiting = new Map<number, Waiting>();
  let count = 0;
  port.on('message', (answer: Answered) => {
    const asked = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('code' in answer) asked?.reject(new RpcError(answer.code, answer.message));
    else asked?.resolve(answer.expiresAt);
  });
  return (authorization, permission) =>
    new Promise((resolve, reject) => {
      count += 1;
      waiting.set(count, { resolve, reject });
      port.postMessage({ id: count, authorization, permission } satisfies Asked);
    });
};

/** The server end, on the thread that authenticates. */
export const relayAdmit = (port: MessagePort, admit: Admit): void => {
  const answer = (answered: Answered): void => port.postMessage(answered);
  port.on('message', ({ id, authorization, permission }: Asked) => {
    admit(authorization, permission).then(
      (expiresAt) => answer({ id, expiresAt }),
      (error: unknown) =>
        answer(
          error instanceof RpcError
            ? { id, code: error.code, message: error.message }
            : { id, code: 'INTERNAL', message: 'internal error' },
        ),
    );
  });
};
