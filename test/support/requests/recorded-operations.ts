import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../../..');
const FOLDER = join(ROOT, 'test/fixtures/eventstoredb');

/** The outcomes of the operations of an official client, by operation name: a result, or the error with its fields. */
export type Answers = Readonly<Record<string, unknown>>;

const answersIn = (path: string): Answers => {
  const recorded = JSON.parse(readFileSync(path, 'utf8')) as Readonly<Record<string, { readonly result: unknown }>>;
  return Object.fromEntries(Object.entries(recorded).map(([name, { result }]) => [name, result]));
};

/** The recorded outcomes of EventStoreDB 23.10.6. */
export const answersOfEventstoredb = (): Answers => answersIn(join(FOLDER, 'operations-23.10.6.json'));

/** The recorded steps of persistent subscriptions of EventStoreDB 23.10.6. */
export const stepsOfEventstoredb = (): Answers => answersIn(join(FOLDER, 'persistent-23.10.6.json'));

/** Runs a script in a separate process, because some operations can crash a client. */
const play = async (script: readonly string[], address: string): Promise<Answers> => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-operations-'));
  try {
    const out = join(directory, 'answers.json');
    const client = spawn(process.execPath, [...script, address, out], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [code] = (await once(client, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`the client of ${address} ended with ${code}`);
    return answersIn(out);
  } finally {
    rmSync(directory, { recursive: true });
  }
};

/** Runs the recorded operations on the server at an address. */
export const playOperations = (address: string): Promise<Answers> =>
  play([join(FOLDER, 'operations.mjs'), 'record'], address);

/** Runs the recorded steps of persistent subscriptions on the server at an address; takes two minutes. */
export const playSteps = (address: string): Promise<Answers> => play([join(FOLDER, 'persistent.mjs')], address);

/** The file with the outcomes on the server of this name that differ from EventStoreDB's. */
export const differingAnswersFile = (server: string): string => join(FOLDER, `differs-${server}.json`);
