/** Runs asynchronous work one piece at a time, in the order of the calls. A failed piece fails its own call only. */
export type OneByOne = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Makes a function that runs work one piece at a time. */
export const oneByOne = (): OneByOne => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined); // the caller handles a failure
    return result;
  };
};
