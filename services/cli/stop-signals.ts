const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Resolves at the first SIGINT or SIGTERM. The second one ends the process at once, by the signal itself, so that no
 * thread is waited for. Process 1 of a container ignores such a signal, and exits with code 130 instead.
 */
export const onStopSignals = (): Promise<void> =>
  new Promise((resolve) => {
    const end = (signal: NodeJS.Signals): never => {
      process.removeListener(signal, end);
      process.kill(process.pid, signal);
      process.exit(130);
    };
    const stop = (): void => {
      for (const signal of SIGNALS) process.removeListener(signal, stop).on(signal, end);
      resolve();
    };
    for (const signal of SIGNALS) process.on(signal, stop);
  });

/**
 * Waits for the server to start. A stop signal during the start exits the process at once, with code 0: the start may
 * wait for a server that never comes, and no client has been answered yet.
 */
export const unlessStopped = async <Started extends object>(
  starting: Promise<Started>,
  stopped: Promise<void>,
): Promise<Started> => {
  const started = await Promise.race([starting, stopped]);
  return started ?? process.exit(0);
};
