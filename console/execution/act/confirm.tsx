import { Dialog } from 'radix-ui';
import type { ReactNode } from 'react';

import { FailureNote } from '../../look/notes.js';

type ConfirmProps = {
  /** On the button that opens the dialog, and on the one that acts. */
  readonly action: string;
  readonly title: string;
  /** Says what will happen. */
  readonly what: string;
  readonly isDanger?: boolean;
  readonly isPending: boolean;
  readonly error: unknown;
  readonly act: () => void;
  readonly children?: ReactNode;
};

/** A button that says what will happen, and asks, before it acts. */
export const Confirm = (props: ConfirmProps): ReactNode => {
  const { action, title, what, isDanger = false, isPending, error, act, children } = props;
  return (
    <Dialog.Root>
      <Dialog.Trigger className={`button ${isDanger ? 'danger' : ''}`}>{action} …</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="veil" />
        <Dialog.Content className="dialog">
          <Dialog.Title>{title}</Dialog.Title>
          <Dialog.Description className="quiet">{what}</Dialog.Description>
          {children}
          {error !== null && <FailureNote error={error} />}
          <div className="beside">
            <button
              type="button"
              className={`button ${isDanger ? 'danger' : 'main'}`}
              disabled={isPending}
              onClick={act}
            >
              {action}
            </button>
            <Dialog.Close className="button">Leave it</Dialog.Close>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
};
