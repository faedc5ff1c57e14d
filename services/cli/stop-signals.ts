/** Resolves at the first SIGINT or SIGTERM; the second one ends the process at once, with code 130. */
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
