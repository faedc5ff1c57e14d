import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEventstoreCluster } from '../support/eventstore-cluster/cluster.js';
import { startLogServer } from '../support/processes/log-server.js';
import {
  answersOfEventstoredb,
  type Answers,
  differingAnswersFile,
  playOperations,
  playSteps,
  stepsOfEventstoredb,
} from '../support/requests/recorded-operations.js';
import { startServerProcess } from '../support/processes/server-process.js';

/** A server on which operations are played. */
type Played = { readonly address: string; readonly stop: () => Promise<unknown> };

const directory = mkdtempSync(join(tmpdir(), 'flightlog-recording-'));

const SERVERS = {
  'control-plane': async (data: string): Promise<Played> => {
    const { ready, stop } = await startServerProcess({ data, env: { FLIGHTLOG_EVENTSTORE_MODE: 'write' } });
    return { address: ready.eventstore!, stop };
  },
  'log-server': (data: string): Promise<Played> => startLogServer(data),
} as const;

type Name = keyof typeof SERVERS;

const NAMES = Object.keys(SERVERS) as readonly Name[];

/** The recorded operations that this server answers differently, as the table of docs/differences.md says. */
const documented = (server: Name, recorded: Answers): readonly string[] => {
  const text = readFileSync(new URL('../../../docs/differences.md', import.meta.url), 'utf8');
  const table = text.slice(text.indexOf('## Port 2113'));
  // Of the five columns, the fourth says which servers differ, the fifth names the operations.
  const rows = [...table.matchAll(/^\|(?:[^|]*\|){3}(?<servers>[^|]*)\|(?<operations>[^|]*)\|$/gmu)];
  return rows
    .filter(({ groups }) => server === 'control-plane' || groups?.['servers']?.trim() === 'both')
    .flatMap(({ groups }) => [...(groups?.['operations'] ?? '').matchAll(/`([\w.-]+)`/gu)].map(([, name]) => name!))
    .filter((name) => name in recorded);
};

/** The answers that differ from the recorded ones, and those that are missing. */
const differing = (answers: Answers, recorded: Answers): Answers => {
  const names = new Set([...Object.keys(recorded), ...Object.keys(answers)]);
  const differs = [...names].filter((name) => JSON.stringify(answers[name]) !== JSON.stringify(recorded[name]));
  return Object.fromEntries(differs.map((name) => [name, answers[name]]));
};

/** Plays the steps of persistent subscriptions on a log server of their own. */
const playStepsOnLog = async (): Promise<Answers> => {
  const { address, stop } = await SERVERS['log-server'](join(directory, 'steps'));
  const answers = await playSteps(address);
  await stop();
  return answers;
};

/** Plays the operations on the test double of a cluster. */
const playDouble = async (): Promise<Answers> => {
  const double = await startEventstoreCluster({ size: 1 });
  const answers = await playOperations((await double.leader()).address);
  await double.close();
  return answers;
};

describe('the operations recorded from EventStoreDB 23.10.6', () => {
  const played = new Map<Name, Answers>();
  let answersOfDouble: Answers = {};
  let steps: Answers = {};

  beforeAll(async () => {
    const playing = NAMES.map(async (name) => {
      const { address, stop } = await SERVERS[name](join(directory, name));
      played.set(name, await playOperations(address));
      await stop();
    });
    [answersOfDouble, steps] = await Promise.all([playDouble(), playStepsOnLog(), ...playing]);
  }, 300_000);
  afterAll(() => rmSync(directory, { recursive: true }));

  it('are answered by the test double as by EventStoreDB, apart from persistent subscriptions', () => {
    const differs = Object.keys(differing(answersOfDouble, answersOfEventstoredb()));
    expect(differs.filter((name) => !name.startsWith('persistent.'))).toEqual([]);
  });

  it.each(NAMES)('are answered by a %s as by EventStoreDB, apart from those in docs/differences.md', async (name) => {
    const recorded = answersOfEventstoredb();
    expect(Object.keys(recorded)).toHaveLength(126);
    const differs = differing(played.get(name)!, recorded);
    expect(Object.keys(differs).sort()).toEqual([...documented(name, recorded)].sort());
    await expect(`${JSON.stringify(differs, null, 1)}\n`).toMatchFileSnapshot(differingAnswersFile(name));
  });

  it('of persistent subscriptions, in steps, are answered as by EventStoreDB, apart from docs/differences.md', () => {
    const recorded = stepsOfEventstoredb();
    expect(Object.keys(recorded)).toHaveLength(59);
    const differs = differing(steps, recorded);
    // A name that a step shares with an operation is in the table because of the operation.
    const named = documented('log-server', recorded).filter((name) => !(name in answersOfEventstoredb()));
    expect(Object.keys(differs).sort()).toEqual([...named].sort());
  });
});
