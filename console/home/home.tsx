import './home.css';

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { QueryResult } from '../look/query-result.js';
import { Empty } from '../look/notes.js';
import { Page } from '../look/page.js';
import { useLive } from '../server/live.js';
import { rpcQuery } from '../server/queries.js';
import { DomainCard } from './domain-card.js';
import { HOURS, hoursOf } from './last-hours.js';
import { State } from './state.js';

/** Maximum number of projects shown: the card of each domain sends its own requests. The menu has further projects. */
const MAX_PROJECTS = 8;

const route = getRouteApi('/');

type PeriodProps = { readonly hours: number; readonly choose: (hours: number) => void };

const Period = ({ hours, choose }: PeriodProps): ReactNode => (
  <div className="chips" role="group" aria-label="Ended within">
    {HOURS.map((each) => (
      <button key={each} type="button" className="chip" aria-pressed={each === hours} onClick={() => choose(each)}>
        {each} h
      </button>
    ))}
  </div>
);

/** Projects and domains with what runs and what has failed in each. */
export const Home = (): ReactNode => {
  const projects = useQuery(rpcQuery(AdminService.method.listProjects, {}));
  const navigate = route.useNavigate();
  const hours = hoursOf(route.useSearch().hours);
  useLive({});
  const period = (
    <Period hours={hours} choose={(next) => void navigate({ search: { hours: String(next) }, replace: true })} />
  );
  return (
    <Page title="What is running" beside={period}>
      <State />
      <QueryResult query={projects}>
        {(answer) =>
          answer.projects.length === 0 ? (
            <Empty>
              There is no active project that you may read. Register one, or ask an operator for the permission.
            </Empty>
          ) : (
            answer.projects.slice(0, MAX_PROJECTS).map(({ id, name, description, domains }) => (
              <section key={id} className="project">
                <h2>{name || id}</h2>
                {description !== '' && <p className="quiet">{description}</p>}
                <div className="domains">
                  {domains.map((domain) => (
                    <DomainCard key={domain.id} scope={{ project: id, domain: domain.id }} hours={hours} />
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
