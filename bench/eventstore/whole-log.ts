import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EventStoreDBClient, START } from '@eventstore/db-client';
import { grpcClient } from '../../test/support/grpc-client.js';
import { startLogServer } from '../../test/support/log-server.js';
import { startServerProcess } from '../../test/support/server-process.js';
import type { BenchOptions, Figure } from '../bench.js';
import { processorMs } from '../processor-time.js';

const BINARY = fileURLToPath(new URL('../../../flightlog.js', import.meta.url));

const urlOf = (address: string): string => `esdb://${address}?tls=false`;

/**
 * Runs a command as a user would.
 *
 * @returns the JSON object that it prints.
 */
const run = async <Summary>(args: readonly string[], nodeArgs: readonly string[]): Promise<Summary> => {
  const child = spawn(process.execPath, [...nodeArgs, BINARY, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  const [code] = (await once(child, 'exit')) as [number];
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`);
  return JSON.parse(out) as Summary;
};

type Read = { readonly events: number; readonly perSecond: number };

/** Reads the whole log with the bare client, without using the events. */
const bareRead = async (address: string): Promise<Read> => {
  const client = EventStoreDBClient.connectionString(urlOf(address));
  const start = performance.now();
  let events = 0;
  for await (const { event } of client.readAll({ fromPosition: START })) if (event !== undefined) events += 1;
  const perSecond = (events * 1_000) / (performance.now() - start);
  await client.dispose();
  return { events, perSecond };
};

/**
 * Starts a process without views on a log and waits until it is ready.
 *
 * @returns the seconds that this took, and the processor milliseconds used.
 */
const catchUp = async ({ disk, nodeArgs }: BenchOptions, name: string, args: readonly string[]) => {
  const start = performance.now();
  const server = await startServerProcess({ data: join(disk.directory, name), nodeArgs, args });
  const client = grpcClient(server.ready.grpc);
  while ((await fetch(`${server.ready.http}/readyz`)).status !== 200)
    await new Promise((resolve) => setTimeout(resolve, 20));
  const seconds = (performance.now() - start) / 1_000;
  const usedMs = processorMs(server.child.pid ?? 0);
  client.close();
  await server.stop();
  return { seconds, usedMs };
};

/**
 * Copies a whole log to a log server, catches up from it, and rebuilds all views from it; each is compared with the
 * bare client reading the log.
 *
 * @param from the data directory of the log.
 */
export const wholeLog = async (options: BenchOptions, from: string): Promise<readonly Figure[]> => {
  const server = await startLogServer(join(options.disk.directory, 'copied-log'));
  try {
    const { address } = server;
    const logMs = (): number => processorMs(server.child().pid ?? 0);
    const before = logMs();
    const copied = await run<{ events: number; copySeconds: number; seconds: number }>(
      ['log', 'copy', '--from', from, '--to', urlOf(address)],
      options.nodeArgs,
    );
    const copyMs = logMs() - before;
    await bareRead(address);
    const bareRun = await bareRead(address);
    const bare = { what: 'bare client reads', perSecond: bareRun.perSecond };
    // The start of a process takes longer than it needs for some thousand events, so it is measured by itself, too.
    const started = await catchUp(options, 'empty', []);
    const caughtUp = await catchUp(options, 'catch-up', ['--event-store', urlOf(address)]);
    const seconds = Math.max(0.001, caughtUp.seconds - started.seconds);
    const data = join(options.disk.directory, 'rebuilt');
    const rebuilt = await run<{ events: number; buildSeconds: number; seconds: number }>(
      ['views', 'rebuild', '--data', data, '--event-store', urlOf(address)],
      options.nodeArgs,
    );
    return [
      {
        name: `eventstore, log copy of ${copied.events} events, verified`,
        perSecond: copied.events / copied.seconds,
        baseline: bare,
        notes: {
          copiedPerSecond: copied.events / copied.copySeconds,
          seconds: copied.seconds,
          logServerUs: (copyMs * 1_000) / copied.events,
        },
        target: 0,
      },
      {
        name: 'eventstore, catch-up of new views, without the start of the process',
        perSecond: bareRun.events / seconds,
        baseline: bare,
        notes: {
          seconds,
          startSeconds: started.seconds,
          processorUs: ((caughtUp.usedMs - started.usedMs) * 1_000) / bareRun.events,
        },
        target: 0.5,
      },
      {
        name: 'eventstore, rebuild of every view',
        perSecond: rebuilt.events / rebuilt.buildSeconds,
        baseline: bare,
        notes: { buildSeconds: rebuilt.buildSeconds, verifySeconds: rebuilt.seconds - rebuilt.buildSeconds },
        target: 0.5,
      },
    ];
  } finally {
    await server.stop();
  }
};
