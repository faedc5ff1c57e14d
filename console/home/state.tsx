import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { OperationsService } from '../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { ReactorService } from '../../proto/gen/platformidl/eventlog/reactor_service_pb.js';
import { Lag } from '../look/lag.js';
import { Facts } from '../look/page.js';
import type { Tone } from '../look/phases.js';
import { SignText } from '../look/sign-text.js';
import { readinessQuery } from '../server/health.js';
import { useMay } from '../server/permissions.js';
import { REFRESHED, rpcQuery } from '../server/queries.js';

const ALL_PROJECTS = { project: '', domain: '' };

type CountProps = { readonly count: number | undefined; readonly tone: Tone };

/** A number that is good while it is 0. */
const Count = ({ count, tone }: CountProps): ReactNode =>
  count === undefined ? '–' : <SignText tone={count === 0 ? 'good' : tone}>{count}</SignText>;

const ViewLag = (): ReactNode => {
  const readiness = useQuery(readinessQuery);
  const lagMs = readiness.data?.checks.find(({ name }) => name === 'views')?.lagMs;
  return lagMs === undefined ? '–' : <Lag ms={lagMs} />;
};

const Engines = (): ReactNode => {
  const { data } = useQuery({ ...rpcQuery(OperationsService.method.listEngines, {}), ...REFRESHED });
  if (!data) return '–';
  const connected = data.engines.filter((engine) => engine.connected).length;
  return (
    <SignText tone={connected === 0 && data.waiting > 0 ? 'bad' : 'good'}>
      {connected} connected, {data.waiting} waiting
    </SignText>
  );
};

/** The number of dead letters. Those of some reactors are unknown when they cannot be read. */
const DeadLetters = (): ReactNode => {
  const { data } = useQuery({ ...rpcQuery(ReactorService.method.listReactors, {}), ...REFRESHED });
  if (!data) return '–';
  const dead = data.reactors.reduce((sum, each) => sum + each.dead, 0);
  const isComplete = data.reactors.every(({ problem }) => problem === '');
  if (isComplete) return <Count count={dead} tone="bad" />;
  return <SignText tone="bad">{dead === 0 ? 'unknown' : `${dead}, others unknown`}</SignText>;
};

const Figures = (): ReactNode => {
  const parked = useQuery({ ...rpcQuery(OperationsService.method.listParkedStreams, {}), ...REFRESHED });
  return (
    <section className="card state" aria-label="State of the system">
      <Facts
        facts={[
          ['Lag of views', <ViewLag />],
          ['Parked streams', <Count count={parked.data?.total} tone="stopped" />],
          ['Dead letters', <DeadLetters />],
          ['Engines', <Engines />],
        ]}
      />
      <Link to="/operate">Operate</Link>
    </section>
  );
};

/** The state of the system in four figures, for people with the permission `admin` in all projects. */
export const State = (): ReactNode => (useMay('admin', ALL_PROJECTS) ? <Figures /> : null);
