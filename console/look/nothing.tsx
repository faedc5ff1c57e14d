import type { ReactNode } from 'react';

import { Empty } from './notes.js';
import { Page } from './page.js';

type NothingProps = { readonly title: string; readonly children: ReactNode };

/** A page that says that the thing it would show does not exist. */
export const Nothing = ({ title, children }: NothingProps): ReactNode => (
  <Page title={title}>
    <Empty>{children}</Empty>
  </Page>
);
