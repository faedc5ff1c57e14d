import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { DataTable } from '../look/data-table.js';
import { Card } from '../look/page.js';
import { QueryResult } from '../look/query-result.js';
import { durationText } from '../look/times.js';
import { type Metric, readMetrics } from '../server/health.js';
import { REFRESHED } from '../server/refreshed.js';
import { SignText } from '../look/sign-text.js';

const LATE_MS = 5_000;
const SECOND_MS = 1_000;

const labelText = (labels: string): string => /"(.*?)"/u.exec(labels)?.[1] ?? '';

/** The lag of each view behind the log. */
export const ViewLags = (): ReactNode => {
  const metrics = useQuery({ queryKey: ['metrics'], queryFn: ({ signal }) => readMetrics(signal), ...REFRESHED });
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
                    <SignText tone={value * SECOND_MS > LATE_MS ? 'bad' : 'good'}>
                      {durationText(value * SECOND_MS)}
                    </SignText>
                  </td>
                </tr>
              ))}
          </DataTable>
        </Card>
      )}
    </QueryResult>
  );
};
