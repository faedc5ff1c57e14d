import type { KeyboardEvent } from 'react';

/** The text of a field of a form, without the space around it. */
export const textIn = (form: FormData, name: string): string => {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
};

/**
 * Sends the form of a text area: by Enter while the text area has one line, as other fields do, and by Ctrl+Enter or
 * ⌘ Enter while it has several. Shift+Enter begins a second line.
 */
export const sendByEnter = (event: KeyboardEvent<HTMLFormElement>): void => {
  const { target, currentTarget, key, shiftKey, ctrlKey, metaKey, nativeEvent } = event;
  if (key !== 'Enter' || nativeEvent.isComposing || !(target instanceof HTMLTextAreaElement)) return;
  if (!ctrlKey && !metaKey && (shiftKey || target.rows > 1)) return;
  event.preventDefault();
  currentTarget.requestSubmit();
};
