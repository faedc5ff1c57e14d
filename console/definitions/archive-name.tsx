import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { NamedEntityState } from '../../proto/gen/platformidl/admin/common_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { Archive } from '../look/archive.js';
import { useAct } from '../server/act.js';
import type { Named } from '../server/ids.js';
import { rpcQuery } from '../server/queries.js';
import { type Kind, KINDS } from './kinds.js';

const { NAMED_ENTITY_ACTIVE: ACTIVE, NAMED_ENTITY_ARCHIVED: ARCHIVED } = NamedEntityState;

/** Archives the name of a workflow or task with all its versions, or takes that back. */
export const ArchiveName = ({ kind, id }: { readonly kind: Kind; readonly id: Named }): ReactNode => {
  const act = useAct(id);
  const { resourceType } = KINDS[kind];
  const { data } = useQuery(rpcQuery(AdminService.method.getNamedEntity, { resourceType, id }));
  if (data === undefined) return null;
  const { description = '', state } = data.metadata ?? {};
  const change = (isArchived: boolean): Promise<unknown> => {
    const metadata = { description, state: isArchived ? ARCHIVED : ACTIVE };
    return act(AdminService.method.updateNamedEntity, { resourceType, id, metadata });
  };
  return <Archive name={id.name} isArchived={state === ARCHIVED} change={change} />;
};
