import type { MessagePort } from 'node:worker_threads';
import { RpcError } from '../../kernel/rpc.js';
import type { Admissions, Admitted, AdmissionRequest } from '../../streams/eventstore/guard.js';
import { answerOver, askOver } from '../threads/messages.js';

type Question =
  | { readonly call: AdmissionRequest }
  | { readonly call: AdmissionRequest; readonly admitted: Admitted; readonly code: string };

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
 * @param onFailure called with the error that kept a call from being authenticated, for the log.
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
