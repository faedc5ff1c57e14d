import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { EventStoreDBClient, START } from '@eventstore/db-client';
import { startLogServer } from '../../test/support/processes/log-server.js';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import type { BenchOptions, Figure } from '../bench.js';
import { runCommand } from '../command.js';
import { processorMs } from '../processor-time.js';

const urlOf = (address: string): string => `esdb://${address}?tls=false`;

type Read = { readonly events: number; readonly perSecond: number };

/** Reads the whole log with the bare client, without using the events. */
const bareRead = async (address: string): Promise<Read> => {
  const client = EventStoreDBClient.connectionString(urlOf(address));
  const begun = performance.now();
  let events = 0;
  for await (const { event } of client.readAll({ fromPosition: START })) if (event !== undefined) events += 1;
  const perSecond = (events * 1_000) / (performance.now() - begun);
  await client.dispose();
  return { events, perSecond };
};

/** The seconds that a start took until the process was ready, and the processor milliseconds of all its threads. */
type Start = { readonly seconds: number; readonly usedMs: number };

/** Starts a process without views on a log server, and waits until it is ready. */
const start = async ({ disk, nodeArgs }: BenchOptions, name: string, address: string): Promise<Start> => {
  const begun = performance.now();
  const data = join(disk.directory, name);
  const server = await startServerProcess({ data, nodeArgs, args: ['--event-store', urlOf(address)] });
  while ((await fetch(`${server.ready.http}/readyz`)).status !== 200) await pause(20);
  const seconds = (performance.now() - begun) / 1_000;
  const usedMs = processorMs(server.child.pid ?? 0);
  await server.stop();
  return { seconds, usedMs };
};

/** Catch-up of new views: the events, and what a start on them took beyond a start on an empty log server. */
type CatchUp = Start & { readonly events: number; readonly emptyStart: Start; readonly bare: Read };

/** Number of measurements of catch-up; the one with the median ratio to its own bare read is reported. */
const ROUNDS = 3;

/**
 * Measures catch-up beside the bare client. A process takes longer to start than it needs for some thousand events, so
 * its start on an empty log server is measured before each and subtracted.
 */
const catchUpRound = async (
  options: BenchOptions,
  { full, empty, round }: { readonly full: string; readonly empty: string; readonly round: number },
): Promise<CatchUp> => {
  const bare = await bareRead(full);
  const emptyStart = await start(options, `empty-${round}`, empty);
  const fullStart = await start(options, `catch-up-${round}`, full);
  return {
    events: bare.events,
    bare,
    emptyStart,
    seconds: Math.max(0.001, fullStart.seconds - emptyStart.seconds),
    usedMs: fullStart.usedMs - emptyStart.usedMs,
  };
};

const ratioOf = ({ events, seconds, bare }: CatchUp): number => events / seconds / bare.perSecond;

const catchUp = async (options: BenchOptions, full: string): Promise<Figure> => {
  const empty = await startLogServer(join(options.disk.directory, 'empty-log'));
  const rounds: CatchUp[] = [];
  try {
    for (let round = 0; round < ROUNDS; round += 1)
      rounds.push(await catchUpRound(options, { full, empty: empty.address, round }));
  } finally {
    await empty.stop();
  }
  const ratios = rounds.map(ratioOf).sort((a, b) => a - b);
  const median = rounds.find((each) => ratioOf(each) === ratios[Math.floor(ROUNDS / 2)]);
  if (median === undefined) throw new Error('catch-up was not measured');
  const { events, seconds, usedMs, emptyStart, bare } = median;
  return {
    name: `eventstore, catch-up of new views, without the start of the process, median of ${ROUNDS}`,
    perSecond: events / seconds,
    baseline: { what: 'bare client reads', perSecond: bare.perSecond },
    notes: {
      leastRatio: ratios[0] ?? NaN,
      mostRatio: ratios[ROUNDS - 1] ?? NaN,
      seconds,
      startSeconds: emptyStart.seconds,
      processorUs: (usedMs * 1_000) / events,
    },
    target: 0.5,
  };
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
    const copied = await runCommand<{ events: number; copySeconds: number; seconds: number }>(
      ['log', 'copy', '--from', from, '--to', urlOf(address)],
      options.nodeArgs,
    );
    const copyMs = logMs() - before;
    await bareRead(address);
    const bareRun = await bareRead(address);
    const bare = { what: 'bare client reads', perSecond: bareRun.perSecond };
    const caughtUp = await catchUp(options, address);
    const data = join(options.disk.directory, 'rebuilt');
    const rebuilt = await runCommand<{ events: number; buildSeconds: number; seconds: number }>(
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
      caughtUp,
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
