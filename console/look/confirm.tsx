import { useMutation } from '@tanstack/react-query';
import { Dialog } from 'radix-ui';
import { type ReactNode, useRef, useState } from 'react';

import { FailureNote } from './notes.js';

type ConfirmProps = {
  /** The label of the button that opens the dialog, and of the one that acts. */
  readonly action: string;
  readonly title: string;
  /** A sentence that describes the effect of the action. */
  readonly consequence: string;
  readonly isDanger?: boolean;
  /** False while something that the action needs is missing. */
  readonly isReady?: boolean;
  readonly act: () => Promise<unknown>;
  readonly children?: ReactNode;
};

/**
 * A button that opens a dialog for confirmation before it acts. The dialog closes when that has succeeded, and stays open
 * until the server has answered, so that nothing is sent twice and each error is seen.
 */
export const Confirm = (props: ConfirmProps): ReactNode => {
  const { action, title, consequence, isDanger = false, isReady = true, act, children } = props;
  const [isOpen, setOpen] = useState(false);
  const isSent = useRef(false);
  const { error, isPending, mutate, reset } = useMutation({
    mutationFn: act,
    onSuccess: () => setOpen(false),
    onSettled: () => {
      isSent.current = false;
    },
  });
  const turn = (open: boolean): void => {
    if (isSent.current) return;
    if (open) reset();
    setOpen(open);
  };
  const send = (): void => {
    if (isSent.current) return; // a second click can come before `isPending` is drawn
    isSent.current = true;
    mutate();
  };
  return (
    <Dialog.Root open={isOpen} onOpenChange={turn}>
      <Dialog.Trigger className={`button ${isDanger ? 'danger' : ''}`}>{action} …</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content className="dialog">
          <Dialog.Title>{title}</Dialog.Title>
          <Dialog.Description className="quiet">{consequence}</Dialog.Description>
          {children}
          {error !== null && <FailureNote error={error} />}
          <div className="beside">
            <button
              type="button"
              className={`button ${isDanger ? 'danger' : 'main'}`}
              disabled={isPending || !isReady}
              onClick={send}
            >
              {action}
            </button>
            <Dialog.Close className="button" disabled={isPending}>
              Cancel
            </Dialog.Close>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
};
