import type { ReactNode } from 'react';

import { Confirm } from './confirm.js';

type ArchiveProps = {
  readonly name: string;
  readonly isArchived: boolean;
  /** Archives it, or takes that back. */
  readonly change: (isArchived: boolean) => Promise<unknown>;
};

/** Archives something, or takes that back, after a confirmation; says when it is archived. */
export const Archive = ({ name, isArchived, change }: ArchiveProps): ReactNode => {
  const action = isArchived ? 'Unarchive' : 'Archive';
  return (
    <>
      {isArchived && <span className="label">archived</span>}
      <Confirm
        action={action}
        title={`${action} ${name}`}
        consequence={
          isArchived
            ? `${name} is active again.`
            : `${name} is marked as archived, for lists that leave such out. Nothing is deleted, and it can be unarchived.`
        }
        act={() => change(!isArchived)}
      />
    </>
  );
};
