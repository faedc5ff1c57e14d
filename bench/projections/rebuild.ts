import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Bench, BenchOptions, Figure } from '../bench.js';
import { readAndDecode } from './read-and-decode.js';
import { recordedLog } from '../load/recorded-log.js';

const BINARY = fileURLToPath(new URL('../../../flightlog.js', import.meta.url));
const EXECUTIONS = 1_000;

type Summary = {
  readonly events: number;
  readonly buildSeconds: number;
  readonly seconds: number;
  readonly maxRssMb: number;
};

/** Runs the command as a user would. */
const rebuildOnce = async (data: string, nodeArgs: readonly string[]): Promise<Summary> => {
  const child = spawn(process.execPath, [...nodeArgs, BINARY, 'views', 'rebuild', '--data', data], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  const [code] = (await once(child, 'exit')) as [number];
  if (code !== 0) throw new Error(`views rebuild ended with ${code}`);
  return JSON.parse(out) as Summary;
};

const measure = async ({ disk, count, nodeArgs }: BenchOptions): Promise<readonly Figure[]> => {
  const data = await recordedLog(disk, 'rebuild', EXECUTIONS, count * 3);
  const baseline = await readAndDecode(data);
  const { events, buildSeconds, seconds, maxRssMb } = await rebuildOnce(data, nodeArgs);
  return [
    {
      name: `rebuild of every view, ${events.toLocaleString('en')} events`,
      baseline: { what: 'read + decode', perSecond: baseline },
      perSecond: events / buildSeconds,
      notes: { buildSeconds, verifySeconds: seconds - buildSeconds, maxRssMb },
    },
  ];
};

/** The command `views rebuild`; its verification is reported separately. */
export const rebuild: Bench = { name: 'rebuild', target: 0.4, run: measure };
