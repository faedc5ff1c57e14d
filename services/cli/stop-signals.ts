/** Resolves at the first request to stop; the second one ends the process at once. */
export const onStopSignals = (): Promise<void> =>
  new Promise((resolve) => {
    let isStopping = false;
    const stop = (): void => {
      if (isStopping) process.exit(130);
      isStopping = true;
      resolve();
    };
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
  });

/**
 * Waits for a process to start, and ends it when it is told to stop before: it may be waiting for what never comes, and
 * nobody was answered yet.
 */
export const unlessStopped = async <Started extends object>(
  starting: Promise<Started>,
  stopped: Promise<void>,
): Promise<Started> => {
  const started = await Promise.race([starting, stopped]);
  return started ?? process.exit(0);
};
