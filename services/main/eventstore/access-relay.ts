import type { MessagePort } from 'node:worker_threads';
import type { PasswordAuthentication } from '../../auth/passwords.js';
import { denied } from '../../kernel/permitted.js';
import type { Authentication, Caller } from '../../kernel/ports/authentication.js';
import { RpcError } from '../../kernel/rpc.js';
import type { Admissions, Admitted, AskingCall } from '../../streams/eventstore/guard.js';
import { answerOver, askOver } from '../threads/messages.js';

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

/** The result of a call: its status, and the reason where it was refused. */
type Result = { readonly code: string; readonly reason: string };

/** Called with each call that was refused, and with each that needs the permission `admin`, when it has ended. */
export type OnResult = (call: AskingCall & { readonly address: string }, caller: Admitted, result: Result) => void;

type Services = {
  readonly authentication: Authentication;
  /** Knows users and clients by their passwords; absent without an authorization server in this process. */
  readonly passwords: PasswordAuthentication | undefined;
  /** True where a proxy in front adds the addresses of clients to `x-forwarded-for`. */
  readonly isBehindProxy: boolean;
  readonly onResult: OnResult;
};

const forwardedIn = ({ forwardedFor }: AskingCall): string | undefined => forwardedFor?.split(',').at(-1)?.trim();

/**
 * The caller of a call: by a token, also one in place of a password; by a user name and password; without any of these,
 * by a client certificate.
 */
const callerOf = async (call: AskingCall, services: Services): Promise<Caller> => {
  const { authentication, passwords, isBehindProxy } = services;
  const { authorization, peer } = call;
  const basic = basicOf(authorization);
  const isToken = basic === undefined || basic.name === TOKEN_USER || !passwords;
  // A proxy that does not name its clients would be one address for all of them: failures count against the name alone.
  if (!isToken) return passwords.callerOf({ ...basic, address: isBehindProxy ? forwardedIn(call) : peer });
  const header = basic === undefined ? authorization : `Bearer ${basic.password}`;
  return authentication.callerOf(
    (name) => (name === 'authorization' ? header : undefined),
    () => call.certificate,
  );
};

const UNKNOWN: Admitted = { principal: '', issuer: '', clientId: '', expiresAt: undefined };

/** Admits callers with valid credentials and the permission in every project. */
export const admitting = (services: Services): Admissions => {
  const { isBehindProxy, onResult } = services;
  const record = (call: AskingCall, caller: Admitted, result: Result): void => {
    const address = (isBehindProxy ? forwardedIn(call) : undefined) ?? call.peer;
    onResult({ ...call, address }, caller, result);
  };
  return {
    admit: async (call) => {
      let admitted = UNKNOWN;
      try {
        const { identity, access } = await callerOf(call, services);
        const { principal, issuer, clientId, expiresAt } = identity;
        admitted = { principal, issuer, clientId, expiresAt };
        if (!access.may(call.permission, '', '')) throw denied(call.permission, EVERYWHERE);
        return admitted;
      } catch (error) {
        // UNAVAILABLE is no refusal: the issuer of the token could not be asked.
        if (error instanceof RpcError && error.code !== 'UNAVAILABLE')
          record(call, admitted, { code: error.code, reason: error.message });
        throw error;
      }
    },
    ended: (call, caller, code) => {
      if (call.permission === 'admin') record(call, caller, { code, reason: '' });
    },
  };
};

type Question =
  | { readonly call: AskingCall }
  | { readonly call: AskingCall; readonly admitted: Admitted; readonly code: string };

/** The client end: asks the thread that authenticates. */
export const relayedAdmissions = (port: MessagePort): Admissions => {
  const questions = askOver<Question, Admitted>(port);
  return {
    admit: (call) => questions.ask({ call }),
    ended: (call, admitted, code) => {
      if (call.permission === 'admin') void questions.ask({ call, admitted, code });
    },
  };
};

/**
 * The server end, on the thread that authenticates. A failure to authenticate, such as a file of users that cannot be
 * read, is UNAVAILABLE: the call may be tried again.
 *
 * @param onFailure is called with what has kept a call from being authenticated, for the log.
 */
export const relayAdmissions = (port: MessagePort, admissions: Admissions, onFailure: (error: unknown) => void): void =>
  answerOver(port, async (question: Question) => {
    if ('code' in question) {
      admissions.ended(question.call, question.admitted, question.code);
      return undefined;
    }
    return admissions.admit(question.call).catch((error: unknown) => {
      if (error instanceof RpcError) throw error;
      onFailure(error);
      throw new RpcError('UNAVAILABLE', 'the server cannot authenticate callers now');
    });
  });
