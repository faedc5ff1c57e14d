import { type RefObject, useLayoutEffect, useRef } from 'react';

import { moveFocus, neighboursOf } from './focus.js';

type KeptFocus = {
  readonly button: RefObject<HTMLButtonElement | null>;
  /**
   * Handles the end of a dialog that the button has opened: the focus goes to the button, or to a neighbour if the
   * button has gone.
   */
  readonly closed: (event: Event) => void;
};

/**
 * Moves the focus to a neighbour of a button when the button is removed while it, or the dialog that it has opened, has
 * the focus, as when an action removes the row of the button.
 */
export const useKeptFocus = (): KeptFocus => {
  const button = useRef<HTMLButtonElement>(null);
  const neighbours = useRef<readonly HTMLElement[]>([]);
  useLayoutEffect(
    () => () => {
      const going = button.current;
      if (!going) return;
      neighbours.current = neighboursOf(going);
      if (document.activeElement !== going) return;
      // After React has removed all that goes away now, and unless something else has taken the focus.
      queueMicrotask(() => {
        if (document.activeElement === document.body) moveFocus(neighbours.current);
      });
    },
    [],
  );
  return {
    button,
    closed: (event) => {
      event.preventDefault();
      moveFocus(button.current ? [button.current] : neighbours.current);
    },
  };
};
