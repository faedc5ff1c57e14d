import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { Card } from '../look/page.js';
import type { Named } from '../server/ids.js';
import { rpcQuery } from '../server/queries.js';
import { LinkOut } from '../values/link-out.js';
import { type Kind, KINDS } from './kinds.js';

type DescriptionProps = { readonly kind: Kind; readonly id: Named; readonly version: string };

/** The description of a version and the address of its source code, as they were registered; nothing without one. */
export const Description = ({ kind, id, version }: DescriptionProps): ReactNode => {
  const { data } = useQuery(
    rpcQuery(AdminService.method.listDescriptionEntities, {
      resourceType: KINDS[kind].resourceType,
      id,
      filters: `eq(version,${version})`,
      limit: 1,
    }),
  );
  const [found] = data?.descriptionEntities ?? [];
  if (!found) return null;
  const { shortDescription, longDescription, sourceCode } = found;
  const { case: kindOfLong, value: long = '' } = longDescription?.content ?? {};
  const source = sourceCode?.link ?? '';
  if (`${shortDescription}${long}${source}` === '') return null;
  return (
    <Card title="Description">
      <div className="card-body">
        {shortDescription !== '' && <p>{shortDescription}</p>}
        {kindOfLong === 'value' && long !== '' && <pre>{long}</pre>}
        {kindOfLong === 'uri' && <LinkOut address={long} text="Long description" />}
        {source !== '' && <LinkOut address={source} text="Source code" />}
      </div>
    </Card>
  );
};
