import type { KeyboardEvent } from 'react';

/** The text of a field of a form, without the space around it. */
export const textIn = (form: FormData, name: string): string => {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
};

/**
 * Sends the form of a field by Enter: in a text of one line as in other fields, which Shift and Enter makes one of
 * several lines; in a text of several lines together with Control, or Command.
 */
export const sendByEnter = (event: KeyboardEvent<HTMLFormElement>): void => {
  const { target, currentTarget, key, shiftKey, ctrlKey, metaKey, nativeEvent } = event;
  if (key !== 'Enter' || nativeEvent.isComposing || !(target instanceof HTMLTextAreaElement)) return;
  if (!ctrlKey && !metaKey && (shiftKey || target.rows > 1)) return;
  event.preventDefault();
  currentTarget.requestSubmit();
};
