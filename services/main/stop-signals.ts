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
