import { useMutation } from '@tanstack/react-query';
import { Dialog } from 'radix-ui';
import { type ReactNode, useState } from 'react';

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

/** A button that opens a dialog for confirmation before it acts; the dialog closes when that has succeeded. */
export const Confirm = (props: ConfirmProps): ReactNode => {
  const { action, title, consequence, isDanger = false, isReady = true, act, children } = props;
  const [isOpen, setOpen] = useState(false);
  const { error, isPending, mutate, reset } = useMutation({ mutationFn: act, onSuccess: () => setOpen(false) });
  const turn = (open: boolean): void => {
    if (open) reset();
    setOpen(open);
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
              onClick={() => mutate()}
            >
              {action}
            </button>
            <Dialog.Close className="button">Cancel</Dialog.Close>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
};
