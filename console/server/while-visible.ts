/**
 * Runs something while the page is looked at, such as a stream of events: browsers allow few open connections to a
 * server, for all tabs together.
 *
 * @param start begins it, also when the page is looked at again, and gives the function that stops it.
 * @returns the function that stops it and does not start it again.
 */
export const whileVisible = (start: () => () => void): (() => void) => {
  let stop: (() => void) | undefined;
  const adjust = (): void => {
    if (document.visibilityState === 'visible') stop ??= start();
    else {
      stop?.();
      stop = undefined;
    }
  };
  adjust();
  document.addEventListener('visibilitychange', adjust);
  return () => {
    document.removeEventListener('visibilitychange', adjust);
    stop?.();
  };
};
