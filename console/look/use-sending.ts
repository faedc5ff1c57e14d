import { useMutation } from '@tanstack/react-query';
import { useRef } from 'react';

/** An action that is not sent again before its answer has come, however often its button is pressed. */
export type Sending = {
  readonly error: unknown;
  readonly isPending: boolean;
  readonly send: () => void;
  /**
   * Forgets the last error and runs `turn`, such as to close a dialog, unless an answer of the server is still to come.
   */
  readonly unlessSent: (turn: () => void) => void;
};

/**
 * Sends one action at a time: a second click can come before the page has drawn that the first is pending.
 *
 * @param succeeded runs after the action has succeeded; where it gives a promise, the action is pending until that
 *   resolves.
 */
export const useSending = <Answer>(act: () => Promise<Answer>, succeeded: (answer: Answer) => unknown): Sending => {
  const isSent = useRef(false);
  const { error, isPending, mutate, reset } = useMutation({
    mutationFn: act,
    onSuccess: (answer) => succeeded(answer),
    onSettled: () => {
      isSent.current = false;
    },
  });
  return {
    error,
    isPending,
    send: () => {
      if (isSent.current) return;
      isSent.current = true;
      mutate();
    },
    unlessSent: (turn) => {
      if (isSent.current) return;
      reset();
      turn();
    },
  };
};
