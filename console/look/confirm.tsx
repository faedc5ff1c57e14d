import { Dialog } from 'radix-ui';
import { type ReactNode, type SubmitEvent, useState } from 'react';

import { useShowDialog } from './dialog-host.js';
import { sendByEnter } from './forms.js';
import { FailureNote } from './notes.js';
import { useKeptFocus } from './use-kept-focus.js';
import { useSending } from './use-sending.js';

/** The texts of a dialog that asks for confirmation of an action. */
export type Question = {
  /** The label of the button that opens the dialog, and of the one that acts. */
  readonly action: string;
  readonly title: string;
  /** A sentence that describes the effect of the action. */
  readonly consequence: string;
  readonly isDanger?: boolean;
};

/** The fields of a dialog for a value, which begins as `undefined` each time when the dialog opens. */
type FieldsProps<Subject, Value> = {
  readonly subject: Subject;
  readonly value: Value | undefined;
  readonly change: (value: Value) => void;
};

type ConfirmProps<Subject, Value> = {
  /** The thing that the action is about, as the page shows it now. */
  readonly subject: Subject;
  readonly question: (subject: Subject) => Question;
  readonly act: (subject: Subject, value: Value | undefined) => Promise<unknown>;
  /** True while the dialog cannot be opened. */
  readonly isDisabled?: boolean;
  readonly Fields?: (props: FieldsProps<Subject, Value>) => ReactNode;
  /** False for a value with which the action cannot be sent. */
  readonly isReady?: (value: Value | undefined) => boolean;
};

const buttonOf = (isDanger: boolean | undefined, other = ''): string =>
  `button ${isDanger === true ? 'danger' : other}`;

type AskedProps<Subject, Value> = Omit<ConfirmProps<Subject, Value>, 'isDisabled'> & {
  readonly close: () => void;
  readonly closed: (event: Event) => void;
};

/** An open dialog. */
const Asked = <Subject, Value>(props: AskedProps<Subject, Value>): ReactNode => {
  const { subject, question, act, Fields, isReady = () => true, close, closed } = props;
  const [value, setValue] = useState<Value | undefined>();
  const { error, isPending, send, unlessSent } = useSending(() => act(subject, value), close);
  const { action, title, consequence, isDanger } = question(subject);
  /** Sends by Enter in a field or by the button; a dangerous action is sent by its button alone. */
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (isDanger !== true && isReady(value)) send();
  };
  return (
    <Dialog.Root open onOpenChange={() => unlessSent(close)}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content className="dialog" onCloseAutoFocus={closed}>
          <Dialog.Title>{title}</Dialog.Title>
          <Dialog.Description className="quiet">{consequence}</Dialog.Description>
          <form onSubmit={submit} onKeyDown={sendByEnter}>
            {Fields && <Fields subject={subject} value={value} change={(next) => setValue(() => next)} />}
            {error !== null && <FailureNote error={error} />}
            <div className="beside">
              <button
                type={isDanger === true ? 'button' : 'submit'}
                className={buttonOf(isDanger, 'main')}
                disabled={isPending || !isReady(value)}
                {...(isDanger === true && { onClick: send })}
              >
                {action}
              </button>
              <Dialog.Close className="button" disabled={isPending} autoFocus={isDanger === true && !Fields}>
                Cancel
              </Dialog.Close>
            </div>
          </form>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
};

/**
 * A button that opens a dialog for confirmation before it acts. The dialog keeps the subject that it opened with, and
 * stays when the page changes the button or removes it: a person confirms what the dialog says. The dialog closes when
 * the action has succeeded, and stays open until the server has answered, so that nothing is sent twice and each error
 * is seen.
 */
export const Confirm = <Subject, Value = undefined>(props: ConfirmProps<Subject, Value>): ReactNode => {
  const { isDisabled = false, ...dialog } = props;
  const show = useShowDialog();
  const { button, closed } = useKeptFocus();
  const { action, isDanger } = dialog.question(dialog.subject);
  return (
    // Not `disabled`, which would lose the focus when the state changes while the button has it.
    <button
      type="button"
      ref={button}
      className={buttonOf(isDanger)}
      aria-haspopup="dialog"
      aria-disabled={isDisabled}
      onClick={() => !isDisabled && show((close) => <Asked {...dialog} close={close} closed={closed} />)}
    >
      {action} …
    </button>
  );
};
