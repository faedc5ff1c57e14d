import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHECKOUT, start } from '../../support/processes/command.js';
import { type LogServer, startLogServer } from '../../support/processes/log-server.js';

const FOLDER = join(CHECKOUT, 'test/integration/eventstore-clients');
const { FLIGHTLOG_TEST_EVENTSTORE_CLIENTS: namedFolder, XDG_CACHE_HOME: cache = join(homedir(), '.cache') } =
  process.env;
/** The folder that `environment` builds the clients in. */
const BUILD_FOLDER = namedFolder ?? join(cache, 'flightlog/eventstore-clients');

/** For each client, the command that runs its program, and the files after whose changes it must be built again. */
const CLIENTS = {
  python: {
    builtFrom: ['requirements.txt'],
    command: join(BUILD_FOLDER, 'python/bin/python'),
    args: (address: string) => [join(FOLDER, 'python/story.py'), address],
  },
  node: {
    builtFrom: ['package.json'],
    command: process.execPath,
    args: (address: string) => [join(FOLDER, 'node/story.mjs'), address, join(BUILD_FOLDER, 'node')],
  },
  java: {
    builtFrom: ['pom.xml', 'src/main/java/Story.java'],
    command: 'java',
    args: (address: string) => [
      '-cp',
      `${join(BUILD_FOLDER, 'java/target/classes')}:${join(BUILD_FOLDER, 'java/libs')}/*`,
      'Story',
      address,
    ],
  },
  go: {
    builtFrom: ['go.mod', 'go.sum', 'main.go'],
    command: join(BUILD_FOLDER, 'go/client'),
    args: (address: string) => [address],
  },
  rust: {
    builtFrom: ['Cargo.toml', 'Cargo.lock', 'src/main.rs'],
    command: join(BUILD_FOLDER, 'rust/target/debug/eventstore-client-rust'),
    args: (address: string) => [address],
  },
} as const;

type Name = keyof typeof CLIENTS;

/** The clients whose program has a step with persistent subscriptions. */
const WITH_GROUPS: ReadonlySet<Name> = new Set(['java', 'go']);

const read = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, 'utf8') : undefined);

/** True when the client was built from the present files. */
const isBuilt = (name: Name): boolean => {
  const has = read(join(BUILD_FOLDER, name, 'has.txt'));
  return has === CLIENTS[name].builtFrom.map((path) => read(join(FOLDER, name, path))).join('');
};

const required = process.env['FLIGHTLOG_TEST_REQUIRES_EVENTSTORE_CLIENTS']?.split(',') ?? [];

it.skipIf(required.length === 0)('the clients are built, when they are required', () => {
  const missing = required.filter((name) => !isBuilt(name as Name));
  expect(missing, 'test/integration/eventstore-clients/environment makes them').toEqual([]);
});

describe.each(Object.keys(CLIENTS) as Name[])('the official %s client, against a log server', (name) => {
  const skipped = !isBuilt(name);
  /** The outcome of each step of the program. */
  const outcomes = new Map<string, Record<string, unknown>>();
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-clients-'));
  let server: LogServer | undefined;

  beforeAll(async () => {
    if (skipped) return;
    server = await startLogServer(directory);
    const { command, args } = CLIENTS[name];
    const { code, stdout, stderr } = await start(command, args(server.address)).ended;
    if (code !== 0) throw new Error(`the client ended with ${code}: ${stderr}`);
    for (const line of stdout.split('\n').filter((text) => text.startsWith('{'))) {
      const { step, ...outcome } = JSON.parse(line) as { step: string };
      outcomes.set(step, outcome);
    }
  }, 60_000);
  afterAll(async () => {
    await server?.stop();
    rmSync(directory, { recursive: true });
  });

  it.skipIf(skipped)('appends, and an append that is sent again is recorded once', () => {
    expect(outcomes.get('append')).toEqual({ revisions: [0, 1] });
  });

  it.skipIf(skipped)('reads a stream both ways, and the whole log', () => {
    expect(outcomes.get('read')).toEqual({
      types: ['Begun', 'Continued'],
      data: `{"from":"${name}"}`,
      // The Java client adds tracing data.
      metadata: expect.stringMatching(/^\{"kept":true[,}]/u) as string,
      backwards: ['Continued', 'Begun'],
      all: ['Begun', 'Continued'],
    });
  });

  it.skipIf(skipped)('sees a conflict', () => {
    expect(outcomes.get('conflict')).toEqual({ seen: true });
  });

  it.skipIf(skipped)('subscribes with a filter, from the start of the log to events appended meanwhile', () => {
    expect(outcomes.get('tail')).toEqual({ types: ['Begun', 'Continued', 'Live'] });
  });

  it.skipIf(skipped || !WITH_GROUPS.has(name))(
    'uses persistent subscriptions: retries, parks and replays events, and deletes the subscription',
    () => {
      expect(outcomes.get('groups')).toEqual({
        exists: true,
        listed: ['workers'],
        retries: 5,
        delivered: ['Begun/0', 'Continued/0', 'Continued/1', 'Live/0'],
        parked: 1,
        replayed: 'Live',
        gone: true,
        all: ['Begun', 'Continued', 'Live'],
      });
    },
  );
});
