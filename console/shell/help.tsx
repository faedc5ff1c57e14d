import { Dialog } from 'radix-ui';
import type { ReactNode } from 'react';

import { KEYS } from './keys.js';

type HelpProps = { readonly isOpen: boolean; readonly setOpen: (isOpen: boolean) => void };

export const Help = ({ isOpen, setOpen }: HelpProps): ReactNode => (
  <Dialog.Root open={isOpen} onOpenChange={setOpen}>
    <Dialog.Portal>
      <Dialog.Overlay className="overlay" />
      <Dialog.Content className="dialog" aria-describedby={undefined}>
        <Dialog.Title>Keys</Dialog.Title>
        <dl className="keys">
          {KEYS.map(([key, meaning]) => (
            <div key={key}>
              <dt>
                {key.split(' ').map((each) => (
                  <kbd key={each}>{each}</kbd>
                ))}
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <Dialog.Close className="button">Close</Dialog.Close>
      </Dialog.Content>
    </Dialog.Portal>
  </Dialog.Root>
);
