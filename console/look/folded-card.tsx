import { type ReactNode, useState } from 'react';

import { Card } from './page.js';

type FoldedCardProps = { readonly title: string; readonly children: ReactNode };

/** A card with a button that shows its content, and hides it again. What the content reads is read when it is shown. */
export const FoldedCard = ({ title, children }: FoldedCardProps): ReactNode => {
  const [isOpen, setOpen] = useState(false);
  const button = (
    <button type="button" className="chip" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
      {isOpen ? 'Hide' : 'Show'}
    </button>
  );
  return (
    <Card title={title} beside={button}>
      {isOpen && children}
    </Card>
  );
};
