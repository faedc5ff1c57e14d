import type { ReactNode } from 'react';

import { Empty } from './notes.js';
import { Page } from './page.js';

type NothingProps = { readonly title: string; readonly children: ReactNode };

/** A page about something that there is not. */
export const Nothing = ({ title, children }: NothingProps): ReactNode => (
  <Page title={title}>
    <Empty>{children}</Empty>
  </Page>
);
