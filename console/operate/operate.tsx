import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { QueryResult } from '../look/query-result.js';
import { Card, Facts, Page } from '../look/page.js';
import { PhaseSign } from '../look/phase-badge.js';
import { durationText } from '../look/times.js';
import { type Metric, type Readiness, readMetrics, readReadiness } from '../server/health.js';
import { asking } from '../server/queries.js';

const ASKED_EVERY_MS = 5_000;
const LATE_MS = 5_000;
const SECOND_MS = 1_000;

const named = (metrics: readonly Metric[], name: string): readonly Metric[] =>
  metrics.filter((metric) => metric.name === name);

const labelText = (labels: string): string => /"(.*?)"/u.exec(labels)?.[1] ?? '';

type LagsProps = { readonly title: string; readonly metrics: readonly Metric[] };

const Lags = ({ title, metrics }: LagsProps): ReactNode => (
  <Card title={title}>
    <table className="table">
      <thead>
        <tr>
          <th>Name</th>
          <th>Lag</th>
        </tr>
      </thead>
      <tbody>
        {metrics.map(({ labels, value }) => (
          <tr key={labels}>
            <td>{labelText(labels)}</td>
            <td>
              <span className="attempt-head">
                <PhaseSign tone={value * SECOND_MS > LATE_MS ? 'bad' : 'good'} /> {durationText(value * SECOND_MS)}
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Card>
);

const Parked = ({ metrics }: { readonly metrics: readonly Metric[] }): ReactNode => {
  const count = named(metrics, 'flightlog_parked_streams').reduce((sum, { value }) => sum + value, 0);
  return (
    <Card title="Parked streams">
      <p className="card-body">
        {count === 0
          ? 'None: every event could be processed.'
          : `${count}. The command flightlog views lists them, and retries them; the runbook says how.`}
      </p>
    </Card>
  );
};

/** The state of this process: its checks, the lag of its views and reactors, and parked streams. */
export const Operate = (): ReactNode => {
  const version = useQuery(asking(AdminService.method.getVersion, {}));
  const every = { refetchInterval: ASKED_EVERY_MS };
  const readiness = useQuery({ queryKey: ['readiness'], queryFn: ({ signal }) => readReadiness(signal), ...every });
  const metrics = useQuery({ queryKey: ['metrics'], queryFn: ({ signal }) => readMetrics(signal), ...every });
  return (
    <Page title="Operate" above="The process that serves this page">
      <QueryResult query={readiness}>
        {({ isReady, text }: Readiness) => (
          <Card title="Checks">
            <Facts
              facts={[
                ['State', isReady ? 'ready' : 'not ready'],
                ['Version', version.data?.controlPlaneVersion?.Version],
              ]}
            />
            <pre className="card-body" tabIndex={0}>
              {text}
            </pre>
          </Card>
        )}
      </QueryResult>
      <QueryResult query={metrics}>
        {(answer: readonly Metric[]) => (
          <>
            <Parked metrics={answer} />
            <div className="two">
              <Lags title="Views" metrics={named(answer, 'flightlog_view_lag_seconds')} />
              <Lags title="Reactors" metrics={named(answer, 'flightlog_reactor_lag_seconds')} />
            </div>
          </>
        )}
      </QueryResult>
    </Page>
  );
};
