import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { DropdownMenu } from 'radix-ui';
import type { ReactNode } from 'react';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import type { Scope } from '../server/ids.js';
import { rpcQuery } from '../server/queries.js';

type ScopeMenuProps = { readonly scope: Scope | undefined };

/** The project and domain, and a menu to choose them. */
export const ScopeMenu = ({ scope }: ScopeMenuProps): ReactNode => {
  const { data } = useQuery(rpcQuery(AdminService.method.listProjects, {}));
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger className="button scope">
        {scope ? (
          <>
            <strong>{scope.project}</strong>
            <span className="quiet">{scope.domain}</span>
          </>
        ) : (
          'Choose a project'
        )}
        <span aria-hidden="true">▾</span>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="start" sideOffset={6}>
          {data?.projects.map(({ id, name, domains }) => (
            <DropdownMenu.Group key={id}>
              <DropdownMenu.Label className="menu-label">{name || id}</DropdownMenu.Label>
              {domains.map((domain) => (
                <DropdownMenu.Item key={domain.id} asChild>
                  <Link
                    className="menu-item"
                    to="/projects/$project/domains/$domain/executions"
                    params={{ project: id, domain: domain.id }}
                  >
                    {domain.name || domain.id}
                  </Link>
                </DropdownMenu.Item>
              ))}
            </DropdownMenu.Group>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
};
