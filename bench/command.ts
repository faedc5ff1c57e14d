import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const BINARY = fileURLToPath(new URL('../../flightlog.js', import.meta.url));

/**
 * Runs a command of flightlog as a user would.
 *
 * @returns the JSON object that it prints.
 * @throws {Error} when it ends with another code than 0.
 */
export const runCommand = async <Summary>(args: readonly string[], nodeArgs: readonly string[]): Promise<Summary> => {
  const child = spawn(process.execPath, [...nodeArgs, BINARY, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`);
  return JSON.parse(out) as Summary;
};
