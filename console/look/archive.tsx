import type { ReactNode } from 'react';

import { Confirm, type Question } from './confirm.js';

type ArchiveProps = {
  readonly name: string;
  readonly isArchived: boolean;
  /** Archives the thing with this name, or takes that back. */
  readonly change: (isArchived: boolean) => Promise<unknown>;
};

const question = ({ name, isArchived }: ArchiveProps): Question => {
  const action = isArchived ? 'Unarchive' : 'Archive';
  return {
    action,
    title: `${action} ${name}`,
    consequence: isArchived
      ? `${name} is active again.`
      : `${name} is marked as archived, and lists may leave it out. Nothing is deleted, and it can be unarchived.`,
  };
};

/** Archives something, or takes that back, after a confirmation; a label says that it is archived. */
export const Archive = (props: ArchiveProps): ReactNode => (
  <>
    {props.isArchived && <span className="label">archived</span>}
    <Confirm subject={props} question={question} act={({ isArchived, change }) => change(!isArchived)} />
  </>
);
