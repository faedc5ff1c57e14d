// Starts the sandbox with the command given, waits until its execution has succeeded, and stops it as Ctrl-C does.
// Says after how many seconds that was. Fails when anything is written to standard error but that sources are
// translated and the console is built: a warning would be the first thing that people see.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const data = mkdtempSync(join(tmpdir(), 'flightlog-sandbox-'));
const [command, ...args] = process.argv.slice(2);
const flags = ['--data', data, '--grpc-port', '0', '--http-port', '0', '--engine-rate', '0'];
// A group of its own, since a terminal sends Ctrl-C to all processes of a command.
const sandbox = spawn(command, [...args, ...flags], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
const closed = once(sandbox, 'close');
let output = '';
let warnings = '';
sandbox.stdout.setEncoding('utf8').on('data', (text) => (output += text));
sandbox.stderr.setEncoding('utf8').on('data', (text) => (warnings += text));

const phase = async () => {
  const url = /(http:\S+\/executions\/flytesnacks\/development\/churn-v1)/u.exec(output)?.[1];
  const response = url === undefined ? undefined : await fetch(url).catch(() => undefined);
  return response?.ok ? (await response.json()).closure.phase : undefined;
};

const started = Date.now();
const deadline = started + 120_000;
let last;
while (last !== 'SUCCEEDED' && Date.now() < deadline && sandbox.exitCode === null) {
  await new Promise((resolve) => setTimeout(resolve, 200));
  last = await phase();
}
const seconds = ((Date.now() - started) / 1_000).toFixed(1);
if (sandbox.exitCode === null) process.kill(-sandbox.pid, 'SIGINT');
await closed;
rmSync(data, { recursive: true });

const isClean =
  output.trimEnd().endsWith('Stopped. The data is kept.') &&
  warnings.replace(/^flightlog: (?:translat|buil).*\n/gmu, '') === '';
process.stdout.write(
  `churn-v1 is ${last} after ${seconds} s; the sandbox has ${isClean ? '' : 'not '}stopped cleanly\n`,
);
if (!isClean) process.stdout.write(output + warnings);
process.exit(last === 'SUCCEEDED' && isClean ? 0 : 1);
