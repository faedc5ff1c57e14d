import { type ChildProcess, spawn } from 'node:child_process';
import type { KubeConfig } from '@kubernetes/client-node';

type Spawn = (command: string, args: readonly string[] | undefined, options: object) => ChildProcess;

/** Starts credential commands, and ends each that still runs after the timeout. */
const spawnUpTo =
  (timeoutMs: number): Spawn =>
  (command, args = [], options) => {
    const child = spawn(command, args, options);
    const timer = setTimeout(() => {
      const seconds = `${timeoutMs / 1_000} s`;
      child.emit(
        'error',
        new Error(`the credential command ${command} has not ended within ${seconds} and was killed`),
      );
      child.kill('SIGKILL');
      // Processes that it has started may still hold its output open.
      child.stdout.destroy();
      child.stderr.destroy();
    }, timeoutMs);
    child.once('close', () => clearTimeout(timer));
    // Without a listener, a command that cannot be started ends the process when the library has thrown before it
    // listens.
    child.on('error', () => clearTimeout(timer));
    return child;
  };

/**
 * Limits the time of the commands by which the users of a kubeconfig get their credentials (`exec`). The client library
 * waits for them without end, and has no setting for it.
 */
export const limitCredentialCommands = (kubeConfig: KubeConfig, timeoutMs: number): void => {
  const authenticators = Reflect.get(kubeConfig, 'authenticators') as readonly object[];
  for (const each of authenticators) if ('execFn' in each) each.execFn = spawnUpTo(timeoutMs);
};
