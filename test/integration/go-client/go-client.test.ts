import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { CHECKOUT, start } from '../../support/processes/command.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { launchHello } from '../../support/requests/hello.js';
import { startServerProcess } from '../../support/processes/server-process.js';

const FOLDER = join(CHECKOUT, 'test/integration/go-client');
const LIMIT_MS = 180_000;

/** The outcome of a step, as the program prints it. */
type Outcome = { readonly step: string; readonly ok: boolean; readonly error?: string };

const read = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');

/** The program that the script `environment` has built, if it was built from the present sources. */
const built = (): string | undefined => {
  const { FLIGHTLOG_TEST_GO_CLIENT: namedFolder, XDG_CACHE_HOME: cache = join(homedir(), '.cache') } = process.env;
  const folder = namedFolder ?? join(cache, 'flightlog/go-client');
  const source = read(join(FOLDER, 'go.mod')) + read(join(FOLDER, 'client.go'));
  return read(join(folder, 'has.txt')).startsWith(source) ? join(folder, 'client') : undefined;
};

const client = built();
const isRequired = process.env['FLIGHTLOG_TEST_REQUIRES_GO_CLIENT'] === '1';

/** The steps of the program, in order. */
const steps = Array.from(
  read(join(FOLDER, 'client.go')).matchAll(/^\t\{"([^"]+)", control\.\w+\},$/gmu),
  ([, does = '']) => does,
);

it.skipIf(!isRequired)('the Go client is built, when it is required', () => {
  expect(client, 'run test/integration/go-client/environment').toBeDefined();
});

describe.skipIf(client === undefined)('a client in Go, against a control plane,', () => {
  let plane: ControlPlane;
  const outcomes = new Map<string, Outcome>();

  beforeAll(async () => {
    plane = await startControlPlane();
    await register(plane.grpc, withNeeds('01-hello'));
    await launchHello(plane.grpc, 'with-go');
    const { code, stdout, stderr } = await start(client!, [plane.server().ready.grpc, 'with-go']).ended;
    if (code !== 0) throw new Error(`the client ended with ${code}: ${stderr}`);
    for (const line of stdout.split('\n').filter((each) => each.startsWith('{'))) {
      const each = JSON.parse(line) as Outcome;
      outcomes.set(each.step, each);
    }
  }, LIMIT_MS);
  afterAll(() => plane.close());

  it.each(steps)('%s', (step) => {
    expect(outcomes.get(step)).toEqual({ step, ok: true });
  });
});

describe.skipIf(client === undefined)('a client in Go that waits for its server', () => {
  it('loses no call when the server is stopped and started again', { timeout: LIMIT_MS }, async () => {
    const data = mkdtempSync(join(tmpdir(), 'flightlog-go-'));
    const first = await startServerProcess({ data });
    const port = first.ready.grpc.split(':').at(-1) ?? '';
    const calling = start(client!, [first.ready.grpc]);
    await calling.said('calling');
    expect(await first.stop()).toBe(0);
    const second = await startServerProcess({ data, args: ['--grpc-port', port] });
    const { code, stderr } = await calling.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    await second.stop();
    rmSync(data, { recursive: true });
  });
});
