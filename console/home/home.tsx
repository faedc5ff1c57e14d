import './home.css';

import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { QueryResult } from '../look/query-result.js';
import { Empty } from '../look/notes.js';
import { Page } from '../look/page.js';
import { useLive } from '../server/live.js';
import { rpcQuery } from '../server/queries.js';
import { DomainCard } from './domain-card.js';
import { State } from './state.js';

/** Cards are read one by one; further projects are in the menu. */
const MAX_PROJECTS = 8;

/** Projects and domains with what runs and what has failed in each. */
export const Home = (): ReactNode => {
  const projects = useQuery(rpcQuery(AdminService.method.listProjects, {}));
  useLive({});
  return (
    <Page title="What is running">
      <State />
      <QueryResult query={projects}>
        {(answer) =>
          answer.projects.length === 0 ? (
            <Empty>There is no project yet. Register one, and it appears here.</Empty>
          ) : (
            answer.projects.slice(0, MAX_PROJECTS).map(({ id, name, description, domains }) => (
              <section key={id} className="project">
                <h2>{name || id}</h2>
                {description !== '' && <p className="quiet">{description}</p>}
                <div className="domains">
                  {domains.map((domain) => (
                    <DomainCard key={domain.id} scope={{ project: id, domain: domain.id }} />
                  ))}
                </div>
              </section>
            ))
          )
        }
      </QueryResult>
    </Page>
  );
};
