import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { DataTable } from '../look/data-table.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { Card, Facts } from '../look/page.js';
import type { Tone } from '../look/phases.js';
import { QueryResult } from '../look/query-result.js';
import { durationText } from '../look/times.js';
import { type Check, type Readiness, readinessQuery } from '../server/health.js';
import { rpcQuery } from '../server/queries.js';
import { SignText } from '../look/sign-text.js';

const TONES: Readonly<Record<Check['state'], Tone>> = { well: 'good', degraded: 'stopped', down: 'bad' };

const CheckRow = ({ name, state, why, lagMs }: Check): ReactNode => (
  <tr>
    <td>{name}</td>
    <td>
      <SignText tone={TONES[state]}>{state}</SignText>
    </td>
    <td>{why ?? (lagMs !== undefined && `lag ${durationText(lagMs)}`)}</td>
  </tr>
);

/** The health checks of the process that serves the page. */
export const Checks = (): ReactNode => {
  const version = useQuery(rpcQuery(AdminService.method.getVersion, {}));
  const readiness = useQuery(readinessQuery);
  return (
    <QueryResult query={readiness}>
      {({ isReady, checks }: Readiness) => (
        <Card title="Checks">
          <Facts
            facts={[
              ['State', <SignText tone={isReady ? 'good' : 'bad'}>{isReady ? 'ready' : 'not ready'}</SignText>],
              ['Version', version.data?.controlPlaneVersion?.Version],
              ['Export to Kafka', checks.some(({ name }) => name === 'export') ? '' : 'not by this process'],
            ]}
          />
          <DataTable label="Checks" columns={['Check', 'State', 'Details']}>
            {checks.map((check) => (
              <CheckRow key={check.name} {...check} />
            ))}
          </DataTable>
        </Card>
      )}
    </QueryResult>
  );
};
