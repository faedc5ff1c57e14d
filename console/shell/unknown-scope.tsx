import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { ServerFailure } from '../server/failure.js';
import { rpcQuery } from '../server/queries.js';

const NOT_FOUND = 404;

type NoteProps = { readonly project: string; readonly domain: string };

const Note = ({ project, domain }: NoteProps): ReactNode => {
  const { data, error } = useQuery(rpcQuery(AdminService.method.getProject, { id: project }));
  if (error instanceof ServerFailure && error.status === NOT_FOUND)
    return (
      <p className="note tone-bad" role="alert">
        There is no project “{project}”. Choose another at the top of the page.
      </p>
    );
  if (!data || data.domains.some(({ id }) => id === domain)) return null;
  return (
    <p className="note tone-bad" role="alert">
      The project “{project}” has no domain “{domain}” that you may read. You may read{' '}
      {data.domains.map(({ id }) => id).join(', ') || 'none'}.
    </p>
  );
};

/** Says that the project or the domain of the address cannot be read, where lists would only be empty. */
export const UnknownScope = (): ReactNode => {
  const { project, domain } = useParams({ strict: false });
  return project === undefined || domain === undefined ? null : <Note project={project} domain={domain} />;
};
