import { Dialog } from 'radix-ui';
import { type ReactNode, useState } from 'react';

import { FailureNote } from './notes.js';
import { useKeptFocus } from './use-kept-focus.js';
import { type Sending, useSending } from './use-sending.js';

/** The texts of a dialog that asks for confirmation of an action. */
export type Question = {
  /** The label of the button that opens the dialog, and of the one that acts. */
  readonly action: string;
  readonly title: string;
  /** A sentence that describes the effect of the action. */
  readonly consequence: string;
  readonly isDanger?: boolean;
};

type ConfirmProps<Subject> = {
  /** The thing that the action is about, as the page shows it now. */
  readonly subject: Subject;
  readonly question: (subject: Subject) => Question;
  readonly act: (subject: Subject) => Promise<unknown>;
  /** True while the dialog cannot be opened. */
  readonly isDisabled?: boolean;
  /** False while something that the action needs is missing. */
  readonly isReady?: boolean;
  readonly children?: ReactNode;
};

const buttonOf = (isDanger: boolean | undefined, other = ''): string =>
  `button ${isDanger === true ? 'danger' : other}`;

type AskedProps<Subject> = Omit<ConfirmProps<Subject>, 'act' | 'isDisabled'> & {
  readonly sending: Sending;
  readonly closed: (event: Event) => void;
};

/** The content of an open dialog. */
const Asked = <Subject,>(props: AskedProps<Subject>): ReactNode => {
  const { subject, question, isReady = true, children, sending, closed } = props;
  const { action, title, consequence, isDanger } = question(subject);
  const { error, isPending, send } = sending;
  return (
    <Dialog.Content className="dialog" onCloseAutoFocus={closed}>
      <Dialog.Title>{title}</Dialog.Title>
      <Dialog.Description className="quiet">{consequence}</Dialog.Description>
      {children}
      {error !== null && <FailureNote error={error} />}
      <div className="beside">
        <button type="button" className={buttonOf(isDanger, 'main')} disabled={isPending || !isReady} onClick={send}>
          {action}
        </button>
        <Dialog.Close className="button" disabled={isPending}>
          Cancel
        </Dialog.Close>
      </div>
    </Dialog.Content>
  );
};

/**
 * A button that opens a dialog for confirmation before it acts. While the dialog is open, its subject stays what it was
 * when the dialog opened, whatever the page reads meanwhile: a person confirms what the dialog says. The dialog closes
 * when the action has succeeded, and stays open until the server has answered, so that nothing is sent twice and each
 * error is seen.
 */
export const Confirm = <Subject,>(props: ConfirmProps<Subject>): ReactNode => {
  const { subject, question, act, isDisabled = false } = props;
  const [shown, setShown] = useState<{ readonly subject: Subject } | undefined>();
  const shownSubject = shown ? shown.subject : subject;
  const close = (): void => setShown(undefined);
  const sending = useSending(() => act(shownSubject), close);
  const turn = (isOpen: boolean): void => {
    if (isOpen && isDisabled) return;
    sending.unlessSent(() => setShown(isOpen ? { subject } : undefined));
  };
  const { button, closed } = useKeptFocus();
  const { action, isDanger } = question(subject);
  return (
    <Dialog.Root open={shown !== undefined} onOpenChange={turn}>
      {/* Not `disabled`, which would lose the focus when the state changes while the button has it. */}
      <Dialog.Trigger ref={button} className={buttonOf(isDanger)} aria-disabled={isDisabled}>
        {action} …
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Asked {...props} subject={shownSubject} sending={sending} closed={closed} />
      </Dialog.Portal>
    </Dialog.Root>
  );
};
