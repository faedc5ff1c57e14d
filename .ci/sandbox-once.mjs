// Starts the sandbox on the Node that runs this, waits until its execution has succeeded, and stops it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const data = mkdtempSync(join(tmpdir(), 'flightlog-sandbox-'));
const args = ['flightlog.js', 'sandbox', '--data', data, '--grpc-port', '0', '--http-port', '0', '--engine-rate', '0'];
const sandbox = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
let output = '';
sandbox.stdout.setEncoding('utf8').on('data', (text) => (output += text));

const executionUrl = () => /(http:\S+\/executions\/flytesnacks\/development\/churn-v1)/u.exec(output)?.[1];
const phase = async () => {
  const url = executionUrl();
  const response = url === undefined ? undefined : await fetch(url).catch(() => undefined);
  return response?.ok ? (await response.json()).closure.phase : undefined;
};

const deadline = Date.now() + 120_000;
let last;
while (last !== 'SUCCEEDED' && Date.now() < deadline && sandbox.exitCode === null) {
  await new Promise((resolve) => setTimeout(resolve, 200));
  last = await phase();
}
sandbox.kill('SIGINT');
const [code] = sandbox.exitCode === null ? await once(sandbox, 'exit') : [sandbox.exitCode];
console.log(`Node ${process.versions.node}: churn-v1 is ${last}, the sandbox ended with ${code}`);
process.exit(last === 'SUCCEEDED' && code === 0 ? 0 : 1);
