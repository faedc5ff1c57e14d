import type { MessagePort } from 'node:worker_threads';
import { denied } from '../../kernel/permitted.js';
import type { PasswordAuthentication } from '../../auth/passwords.js';
import type { Authentication, Caller } from '../../kernel/ports/authentication.js';
import { RpcError, type StatusCode } from '../../kernel/rpc.js';
import type { Admit, AskingCall } from '../../streams/eventstore/guard.js';

type Asked = { readonly id: number; readonly call: AskingCall };

type Answered =
  | { readonly id: number; readonly expiresAt: number | undefined }
  | { readonly id: number; readonly code: StatusCode; readonly message: string };

type Waiting = { readonly resolve: (expiresAt: number | undefined) => void; readonly reject: (error: Error) => void };

const EVERYWHERE = { project: '', domain: '' };

const BASIC = /^basic +(\S+) *$/iu;

/** The user and password of Basic credentials; `undefined` for others. */
const basicOf = (
  authorization: string | undefined,
): { readonly name: string; readonly password: string } | undefined => {
  const [, encoded] = BASIC.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const [name = '', ...password] = Buffer.from(encoded, 'base64').toString().split(':');
  return { name, password: password.join(':') };
};

/** The user name with which official clients send a token as their password. */
const TOKEN_USER = 'token';

type Services = {
  readonly authentication: Authentication;
  /** Knows users and clients by their passwords; absent where another server does. */
  readonly passwords: PasswordAuthentication | undefined;
  /** Called with each call that was refused, and the reason. */
  readonly onRefused: (call: AskingCall, refusal: RpcError, principal: string) => void;
};

/** The caller of a call: by a token, also one in place of a password, or by a user name and password. */
const callerOf = async ({ authorization, address }: AskingCall, services: Services): Promise<Caller> => {
  const { authentication, passwords } = services;
  const basic = basicOf(authorization);
  const isToken = basic === undefined || basic.name === TOKEN_USER || !passwords;
  if (!isToken) return passwords.callerOf({ ...basic, address });
  const header = basic === undefined ? authorization : `Bearer ${basic.password}`;
  return authentication.callerOf((name) => (name === 'authorization' ? header : undefined));
};

/** Admits callers with valid credentials and the permission in every project. */
export const admitting =
  (services: Services): Admit =>
  async (call) => {
    let principal = '';
    try {
      const { identity, access } = await callerOf(call, services);
      ({ principal } = identity);
      if (!access.may(call.permission, '', '')) throw denied(call.permission, EVERYWHERE);
      return identity.expiresAt;
    } catch (error) {
      if (error instanceof RpcError) services.onRefused(call, error, principal);
      throw error;
    }
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
  return (call) =>
    new Promise((resolve, reject) => {
      count += 1;
      waiting.set(count, { resolve, reject });
      port.postMessage({ id: count, call } satisfies Asked);
    });
};

/** A failure to authenticate, such as a file of users that cannot be read, passes: the call may be tried again. */
const refusalOf = (error: unknown): Pick<RpcError, 'code' | 'message'> =>
  error instanceof RpcError ? error : { code: 'UNAVAILABLE', message: 'the server cannot authenticate callers now' };

/**
 * The server end, on the thread that authenticates.
 *
 * @param onFailure is called with what has kept a call from being authenticated, for the log.
 */
export const relayAdmit = (port: MessagePort, admit: Admit, onFailure: (error: unknown) => void): void => {
  const answer = (answered: Answered): void => port.postMessage(answered);
  port.on('message', ({ id, call }: Asked) => {
    admit(call).then(
      (expiresAt) => answer({ id, expiresAt }),
      (error: unknown) => {
        if (!(error instanceof RpcError)) onFailure(error);
        const { code, message } = refusalOf(error);
        answer({ id, code, message });
      },
    );
  });
};
