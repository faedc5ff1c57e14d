import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');
const FOLDER = join(ROOT, 'test/fixtures/eventstoredb');

/** What came of operations of an official client, by the name of each: a result, or the error and its fields. */
export type Answers = Readonly<Record<string, unknown>>;

const answersIn = (path: string): Answers => {
  const recorded = JSON.parse(readFileSync(path, 'utf8')) as Readonly<Record<string, { readonly result: unknown }>>;
  return Object.fromEntries(Object.entries(recorded).map(([name, { result }]) => [name, result]));
};

/** The answers of EventStoreDB 23.10.6. */
export const answersOfEventstoredb = (): Answers => answersIn(join(FOLDER, 'operations-23.10.6.json'));

/** Plays the same operations on another server, in a process of their own: some of them can end a client. */
export const playOperations = async (address: string): Promise<Answers> => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-operations-'));
  try {
    const out = join(directory, 'answers.json');
    const args = [join(FOLDER, 'operations.mjs'), 'record', address, out];
    const client = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
    const [code] = (await once(client, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`the client of ${address} ended with ${code}`);
    return answersIn(out);
  } finally {
    rmSync(directory, { recursive: true });
  }
};

/** The file with the answers of one of our servers that are not those of EventStoreDB. */
export const differingAnswersFile = (server: string): string => join(FOLDER, `differs-${server}.json`);
