import { Dialog } from 'radix-ui';
import type { ReactNode } from 'react';

import { FailureNote } from './notes.js';

type ConfirmProps = {
  /** The label of the button that opens the dialog, and of the one that acts. */
  readonly action: string;
  readonly title: string;
  /** A sentence that describes the effect of the action. */
  readonly consequence: string;
  readonly isDanger?: boolean;
  readonly isPending: boolean;
  readonly error: unknown;
  readonly act: () => void;
  readonly children?: ReactNode;
};

/** A button that opens a dialog for confirmation before it acts. */
export const Confirm = (props: ConfirmProps): ReactNode => {
  const { action, title, consequence, isDanger = false, isPending, error, act, children } = props;
  return (
    <Dialog.Root>
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
              disabled={isPending}
              onClick={act}
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
