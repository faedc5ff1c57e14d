/** The result of `work`, and the processor time that this process used meanwhile, in milliseconds. */
export const timed = <Result>(work: () => Result): readonly [result: Result, spentMs: number] => {
  const before = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(before);
  return [result, (user + system) / 1000];
};
