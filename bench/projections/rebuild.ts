import type { Bench, BenchOptions, Figure } from '../bench.js';
import { runCommand } from '../command.js';
import { readAndDecode } from './read-and-decode.js';
import { recordedLog } from '../load/recorded-log.js';

const EXECUTIONS = 1_000;

/** The summary that `views rebuild` prints. */
type Summary = {
  readonly events: number;
  readonly buildSeconds: number;
  /** With the verification of the views. */
  readonly seconds: number;
  readonly maxRssMb: number;
};

const measure = async ({ disk, count, nodeArgs }: BenchOptions): Promise<readonly Figure[]> => {
  const data = await recordedLog(disk, 'rebuild', EXECUTIONS, count * 3);
  const baseline = await readAndDecode(data);
  const { events, buildSeconds, seconds, maxRssMb } = await runCommand<Summary>(
    ['views', 'rebuild', '--data', data],
    nodeArgs,
  );
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
