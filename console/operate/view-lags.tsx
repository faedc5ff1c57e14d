import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { DataTable } from '../look/data-table.js';
import { Lag } from '../look/lag.js';
import { Card } from '../look/page.js';
import { QueryResult } from '../look/query-result.js';
import { type Metric, metricsQuery } from '../server/health.js';

const SECOND_MS = 1_000;

const labelText = (labels: string): string => /"(.*?)"/u.exec(labels)?.[1] ?? '';

/** The lag of each view behind the log; for one that is being built, at least the time since that was found. */
export const ViewLags = (): ReactNode => {
  const metrics = useQuery(metricsQuery);
  return (
    <QueryResult query={metrics}>
      {(all: readonly Metric[]) => (
        <Card title="Views">
          <DataTable label="Views" columns={['View', 'Lag']}>
            {all
              .filter(({ name }) => name === 'flightlog_view_lag_seconds')
              .map(({ labels, value }) => (
                <tr key={labels}>
                  <td>{labelText(labels)}</td>
                  <td>
                    <Lag ms={value * SECOND_MS} />
                  </td>
                </tr>
              ))}
          </DataTable>
        </Card>
      )}
    </QueryResult>
  );
};
