import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';

import {
  bridgeCatalog,
  counters,
  type MetricDefinition,
  gauges,
  histograms,
} from '../../../services/metrics/catalog.js';
import { openMetrics } from '../../../services/metrics/process-metrics.js';
import { RevisionConflict, StoreUnavailable } from '../../../services/kernel/fault.js';
import { streamName } from '../../../services/kernel/stream.js';
import { measuredAppends } from '../../../services/main/metrics.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';

const ROOT = join(import.meta.dirname, '../../../..');
const PAGE = join(ROOT, 'docs/operations/metrics.md');
const textOf = (file: string): string => readFileSync(join(ROOT, 'deployment', file), 'utf8');

/** All metrics of a process, with those of prom-client. */
const described = await openMetrics().described();
/** The lines of the page about metrics of a type. */
const ours = (type: string, definitions: Readonly<Record<string, MetricDefinition>>): readonly string[] =>
  Object.values(definitions).map(({ name, labelNames, help }) => {
    const labels = labelNames.length === 0 ? '' : ` by ${labelNames.map((label) => `\`${label}\``).join(', ')}`;
    return `- \`${name}\` (${type}${labels}): ${help}`;
  });
const typeOf = (definition: MetricDefinition): string => {
  if ('buckets' in definition) return 'histogram';
  return definition.name.endsWith('_total') ? 'counter' : 'gauge';
};
/** The names of the metrics of `flightlog serve`, without those of prom-client. */
const own = new Set(
  [...Object.values(histograms), ...Object.values(counters), ...Object.values(gauges)].map(({ name }) => name),
);

const page = `# Metrics

Every process of \`flightlog serve\` answers \`GET /metrics\` in the text format of Prometheus on the port of REST and health checks (\`--http-port\`), whatever its roles. A metric without a value at the moment has only its \`# HELP\` and \`# TYPE\` lines. \`deployment/prometheus/alerts.yml\` has alerts, and \`deployment/grafana/flightlog.json\` a dashboard; import both and adapt the limits. This list is generated from the code; \`npm run metrics-list\` writes it anew.

Calls of the EventStoreDB protocol (port 2113) are not counted among the requests.

## Of flightlog

${[...ours('histogram', histograms), ...ours('counter', counters), ...ours('gauge', gauges)].join('\n')}

## Of the bridge

\`flightlog bridge\` serves these on \`bridge.metrics_port\`, with those of its process.

${Object.values(bridgeCatalog)
  .flatMap((each) => ours(typeOf(each), { each }))
  .join('\n')}

## Of the process

As [prom-client](https://github.com/siimon/prom-client) has them, for every Node process. The delay of the event loop is sampled every 50 ms, and the least, the greatest, the mean and the percentiles include the time between two samples: 0.05 means no delay.

${described
  .filter(({ name }) => !own.has(name))
  .map(({ name, type, help }) => `- \`${name}\` (${type}): ${help}`)
  .join('\n')}
`;

/** The names of our metrics and of process metrics in a Prometheus query, without the suffixes of histograms. */
const namesIn = (query: string): readonly string[] =>
  [...query.matchAll(/\b(?:flightlog|nodejs|process)_\w+/gu)].map(([name]) =>
    name.replace(/_(?:bucket|sum|count)$/u, ''),
  );

const isThere = (name: string): boolean => described.some((each) => each.name === name);

type Rules = {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
};
type Dashboard = {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
};

const rules = (parse(textOf('prometheus/alerts.yml')) as Rules).groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(textOf('grafana/flightlog.json')) as Dashboard;
const panels = dashboard.panels.filter(({ targets }) => targets !== undefined);

describe('the metrics', () => {
  it('count ticks of schedules by outcome, and skipped ones by reason', async () => {
    const metrics = openMetrics();
    metrics.ticks('fired', 1);
    metrics.ticks('skipped', 2, 'missed');
    const { body } = await metrics.text();
    expect(body).toContain('flightlog_schedule_ticks_total{outcome="fired"} 1\n');
    expect(body).toContain('flightlog_schedule_ticks_total{outcome="skipped",reason="missed"} 2\n');
  });

  it('count notifications by each of their outcomes, from 0 on', async () => {
    const metrics = openMetrics();
    metrics.channelOpened('mail');
    metrics.notified('mail', 'digested');
    const { body } = await metrics.text();
    for (const outcome of ['sent', 'failed', 'refused', 'unknown', 'given-up'])
      expect(body).toContain(`flightlog_notification_attempts_total{channel="mail",outcome="${outcome}"} 0\n`);
    expect(body).toContain('flightlog_notification_attempts_total{channel="mail",outcome="digested"} 1\n');
  });

  it('are those that docs/operations/metrics.md lists', async () => {
    await expect(page).toMatchFileSnapshot(PAGE, '`npm run metrics-list` writes it');
  });

  it.each(rules.map(({ alert, expr }) => [alert, expr] as const))(
    'that the alert %s asks for are there',
    (_alert, expr) => {
      expect(namesIn(expr).length).toBeGreaterThan(0);
      for (const name of namesIn(expr)) expect(isThere(name), name).toBe(true);
    },
  );

  it('have a count of 0 for what alerts watch, before it happens for the first time', async () => {
    const metrics = openMetrics();
    metrics.channelOpened('mail');
    const { body } = await metrics.text();
    const watched = rules.flatMap(({ expr }) => [
      ...expr.matchAll(/increase\((?<name>\w+)\{(?<label>\w+)=~?"(?<values>[^"]+)"\}/gu),
    ]);
    expect(watched.length).toBeGreaterThan(4);
    for (const { groups: { name = '', label = '', values = '' } = {} } of watched)
      for (const value of values.split('|'))
        expect(body).toMatch(new RegExp(`^${name}\\{(?:.*,)?${label}="${value}"(?:,.*)?\\} 0$`, 'mu'));
  });

  it.each(panels.map(({ title, targets = [] }) => [title, targets] as const))(
    'that the panel «%s» shows are there',
    (_title, targets) => {
      const names = targets.flatMap(({ expr }) => namesIn(expr));
      expect(names.length).toBeGreaterThan(0);
      for (const name of names) expect(isThere(name), name).toBe(true);
    },
  );
});

describe('a process', () => {
  const lines = async (metrics: ReturnType<typeof openMetrics>): Promise<readonly string[]> =>
    (await metrics.text()).body.split('\n');

  it('counts a request by RPC, transport and status, and what it has shed', async () => {
    const metrics = openMetrics();
    const request = { rpc: 'AdminService.GetTask', transport: 'grpc', tookMs: 3 };
    for (const each of [1, 2, 3]) metrics.requests.began(each < 3 ? 'grpc' : 'rest');
    metrics.requests.ended({ ...request, code: 'OK', isShed: false });
    metrics.requests.ended({ ...request, code: 'RESOURCE_EXHAUSTED', isShed: true });
    const text = await lines(metrics);
    expect(text).toContain(
      'flightlog_request_duration_seconds_bucket{le="0.005",rpc="AdminService.GetTask",transport="grpc",code="OK"} 1',
    );
    expect(text).toContain('flightlog_requests_shed_total{rpc="AdminService.GetTask",transport="grpc"} 1');
    expect(text).toContain('flightlog_requests_in_flight{transport="grpc"} 0');
    expect(text).toContain('flightlog_requests_in_flight{transport="rest"} 1');
  });

  it('counts appends, commits and how many appends a commit took', async () => {
    const metrics = openMetrics();
    metrics.appended('ok', 2);
    metrics.committed({ appends: 5, syncMs: 0.7 });
    const text = await lines(metrics);
    expect(text).toContain('flightlog_append_duration_seconds_count{outcome="ok"} 1');
    expect(text).toContain('flightlog_log_batch_appends_bucket{le="4"} 0');
    expect(text).toContain('flightlog_log_batch_appends_bucket{le="8"} 1');
    expect(text).toContain('flightlog_log_sync_duration_seconds_bucket{le="0.001"} 1');
  });

  it('counts an append that meets another revision as refused, and one that the store cannot take as failed', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'flightlog-measured-appends-'));
    const log = await sqliteEventStore({ directory });
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const metrics = openMetrics();
    const store = measuredAppends(log, metrics);
    const stream = streamName('purse', ['a']);
    const event = (n: number) => ({ id: Buffer.alloc(16, n), type: 'Filled', data: new Uint8Array(), metadata: '{}' });
    await store.append(stream, 'no-stream', [event(1)]);
    await expect(store.append(stream, 'no-stream', [event(2)])).rejects.toThrow(RevisionConflict);
    await log.close();
    await expect(store.append(stream, 'any', [event(3)])).rejects.toThrow(StoreUnavailable);
    const counts = (await lines(metrics)).filter((line) => line.startsWith('flightlog_append_duration_seconds_count'));
    expect(counts).toEqual(
      ['ok', 'refused', 'failed'].map((outcome) => `flightlog_append_duration_seconds_count{outcome="${outcome}"} 1`),
    );
  });

  it('reads a gauge when it is asked, and leaves out one that has no value any more', async () => {
    const metrics = openMetrics();
    let samples = [{ value: 7 }];
    metrics.read('head', () => samples);
    expect(await lines(metrics)).toContain('flightlog_log_head_position 7');
    samples = [];
    expect((await lines(metrics)).filter((line) => line.startsWith('flightlog_log_head_position'))).toEqual([]);
  });
});
