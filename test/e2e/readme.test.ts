import { mkdtempSync, readFileSync, rmSync, symlinkSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { CHECKOUT, freePort, type Running, start } from '../support/processes/command.js';
import { type Block, markedBlocks, type Step, stepsOf } from '../support/documents/readme-blocks.js';
import { misfit, showsLines } from '../support/documents/shape.js';
import { until } from '../support/until.js';

/** A command that starts the sandbox. */
const STARTS = /(?:^|&& )npm start$/u;

const readme = readFileSync(join(CHECKOUT, 'README.md'), 'utf8');
const scripts = (JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8')) as { scripts: { start: string } })
  .scripts;

/** The commands run in a folder that looks like the checkout, so that `./data` is its own. */
const folder = mkdtempSync(join(tmpdir(), 'flightlog-readme-'));
let ports: { readonly grpc: string; readonly http: string; readonly eventstore: string };
let sandbox: Running | undefined;

const stop = async (): Promise<void> => {
  sandbox?.child.kill('SIGINT');
  expect((await sandbox?.ended)?.code ?? 0).toBe(0);
  sandbox = undefined;
};

/** Starts the sandbox as `npm start` does. */
const startSandbox = async (): Promise<Running> => {
  await stop();
  const env = {
    FLIGHTLOG_GRPC_PORT: ports.grpc,
    FLIGHTLOG_HTTP_PORT: ports.http,
    FLIGHTLOG_EVENTSTORE_PORT: ports.eventstore,
  };
  sandbox = start(process.execPath, ['flightlog.js', 'sandbox'], { cwd: folder, env });
  await sandbox.said('Ctrl-C stops.');
  return sandbox;
};

/** Replaces the usual ports by those of this test. */
const withOwnPorts = (text: string): string =>
  text
    .replaceAll(':8080', `:${ports.http}`)
    .replaceAll(':8081', `:${ports.grpc}`)
    .replaceAll(':2113', `:${ports.eventstore}`);

/** Replaces the folders in the text of the sandbox, which differ from run to run. */
const withoutFolder = (text: string): string =>
  text.replace(/^( {2}data {2}).*$/mu, '$1…').replace(/\S+\/outbox/u, '…/outbox');

/** The difference between shown and real JSON; undefined when the real one fits. */
const jsonMisfit = (shown: string, real: string): string | undefined => misfit(JSON.parse(shown), JSON.parse(real));

/** The first difference between shown and real lines of JSON. */
const linesMisfit = (shown: string, real: string): string | undefined => {
  const lines = real.trim().split('\n');
  return shown
    .split('\n')
    .map((line, index) => jsonMisfit(line, lines[index] ?? 'null'))
    .find((each) => each !== undefined);
};

/** The difference between a block of the README and the real output; undefined when the output fits. */
const misfitOf = ({ language, text }: Block, real: string): string | undefined => {
  if (language === 'json') return jsonMisfit(text, real);
  if (language === 'jsonl') return linesMisfit(text, real);
  return showsLines(withOwnPorts(withoutFolder(text)), withoutFolder(real)) ? undefined : `it says ${real}`;
};

const output = async (command: string): Promise<string> => {
  const { code, stdout, stderr } = await start('sh', ['-c', withOwnPorts(command)], { cwd: folder }).ended;
  expect(code, stderr).toBe(0);
  return stdout;
};

const run = async ({ command, shows }: Step): Promise<void> => {
  if (STARTS.test(command)) {
    const { stdout } = await startSandbox();
    if (shows) expect(misfitOf(shows, stdout())).toBeUndefined();
    return;
  }
  if (command.startsWith('rm ')) await stop();
  const difference = async (): Promise<string | undefined> => {
    const real = await output(command);
    return shows && misfitOf(shows, real);
  };
  // The output shown for an execution appears once it has come that far, so reads are repeated; a launch is sent only
  // once.
  if (command.includes(' -d ')) expect(await difference()).toBeUndefined();
  else await until(difference, (found) => found === undefined);
};

describe('the commands of the README', () => {
  beforeAll(async () => {
    for (const name of ['flightlog.js', 'package.json', 'node_modules'])
      symlinkSync(join(CHECKOUT, name), join(folder, name));
    ports = { grpc: String(await freePort()), http: String(await freePort()), eventstore: String(await freePort()) };
  });
  afterAll(async () => {
    await stop();
    rmSync(folder, { recursive: true });
  });

  it('begin with `npm start`, which starts the sandbox', () => {
    expect(scripts.start).toBe('node flightlog.js sandbox');
    expect(readme).toContain('```sh run\nnpm ci && npm start\n```');
  });

  const steps = stepsOf(markedBlocks(readme));

  it('call npm, curl, node and rm, in the expected order', () => {
    expect(steps.map(({ command }) => command.split(' ', 1)[0])).toEqual([
      'npm',
      'curl',
      'curl',
      'curl',
      'node',
      'npm',
      'rm',
    ]);
  });

  it.each(steps)('do what the README shows: $command', run);

  it('leave no data, which the last command removes', () => {
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });
});
