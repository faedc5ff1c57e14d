import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { authentication } from './writes/authentication.js';
import type { Bench, Figure, Limited } from './bench.js';
import { consoleWithLargeData } from './console/console.js';
import { creates } from './writes/create.js';
import { eventstore } from './eventstore/eventstore.js';
import { fanOut } from './writes/fan-out.js';
import { type Disk, openDisk } from './disk.js';
import { feed } from './streams/feed.js';
import { ingestStream } from './writes/ingest-stream.js';
import { tails, watch } from './streams/follow.js';
import { ingestUnary } from './writes/ingest-unary.js';
import { kafkaExport } from './streams/kafka-export.js';
import { lists } from './reads/list.js';
import { memory } from './writes/memory.js';
import { past } from './reads/past.js';
import { projector } from './projections/projector.js';
import { repeats } from './writes/repeats.js';
import { rebuild } from './projections/rebuild.js';
import { scheduleBurst } from './writes/schedule-burst.js';

const BENCHES: readonly Bench[] = [
  ingestUnary,
  ingestStream,
  creates,
  fanOut,
  watch,
  tails,
  repeats,
  lists,
  past,
  rebuild,
  memory,
  authentication,
  eventstore,
  projector,
  kafkaExport,
  scheduleBurst,
  feed,
  consoleWithLargeData,
];

/** Widths of the columns of names and of values, in characters, for figures without a baseline. */
const NAME_WIDTH = 56;
const VALUE_WIDTH = 9;

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const rounded = (value: number): string => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2));

const show = ({ name, perSecond, baseline, notes }: Figure, target: number): void => {
  const ratio = perSecond / baseline.perSecond;
  const verdict = target === 0 ? '' : ratio >= target ? ` (target ${target}: reached)` : ` (target ${target}: MISSED)`;
  print(
    `${name}: ${rounded(perSecond)}/s; ${baseline.what} ${rounded(baseline.perSecond)}/s; ratio ${ratio.toFixed(2)}${verdict}`,
  );
  print(
    `  ${Object.entries(notes)
      .map(([key, value]) => `${key} ${rounded(value)}`)
      .join(', ')}`,
  );
};

const verdictOf = (value: number, { kind, value: limit }: NonNullable<Limited['limit']>): string =>
  ` (at ${kind} ${rounded(limit)}: ${(kind === 'most' ? value <= limit : value >= limit) ? 'reached' : 'MISSED'})`;

const showLimited = ({ name, value, unit, limit }: Limited): void =>
  print(
    `${name.padEnd(NAME_WIDTH)} ${rounded(value).padStart(VALUE_WIDTH)} ${unit}${limit ? verdictOf(value, limit) : ''}`,
  );

const runOne = async (
  bench: Bench,
  disk: Disk,
  { count, profile }: { count: number; profile: boolean },
): Promise<void> => {
  const nodeArgs = profile ? ['--cpu-prof', '--cpu-prof-dir=cpu-profiles'] : [];
  for (const figure of await bench.run({ disk, count, nodeArgs }))
    if ('unit' in figure) showLimited(figure);
    else show(figure, figure.target ?? bench.target);
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: { type: 'string', default: '60000' }, 'cpu-prof': { type: 'boolean', default: false } },
});
const count = Number(values.count);
const isUnknown = (wantedName: string): boolean => BENCHES.every(({ name }) => name !== wantedName);
const isWanted = ({ name, onlyByName = false }: Bench): boolean =>
  positionals.length === 0 ? !onlyByName : positionals.includes(name);
const wanted = BENCHES.filter(isWanted);
if (positionals.some(isUnknown) || !Number.isSafeInteger(count) || count < 1) {
  print(`usage: npm run bench -- [${BENCHES.map(({ name }) => name).join('|')}] [--count N] [--cpu-prof]`);
  process.exit(1);
}
const disk = openDisk();
print(`${disk.fileSystem}, fsync p50 ${disk.fsyncMs.toFixed(2)} ms, Node ${process.versions.node}`);
try {
  for (const bench of wanted) await runOne(bench, disk, { count, profile: values['cpu-prof'] });
} finally {
  rmSync(disk.directory, { recursive: true, force: true });
}
