/** Time for messages, and for what awaits them, in one turn of the event loop, in milliseconds. */
const TURN_MS = 10;

/**
 * Delivers messages of another thread in order. Node passes on 1,000 or more in one turn of the event loop, and what
 * awaits them runs in the same turn. After 10 ms, further messages wait for the next turn, so that other calls run in
 * between.
 */
export const deliverInTurns = <Message>(deliver: (message: Message) => void): ((message: Message) => void) => {
  /** Deliveries that wait, after the one in progress, if there is one. */
  const later: (() => void)[] = [];
  let beganAt: number | undefined;

  /** True when the messages of this turn have taken their time; the time runs from the first call in a turn. */
  const isOver = (): boolean => {
    if (beganAt === undefined) {
      beganAt = performance.now();
      setImmediate(() => (beganAt = undefined));
    }
    return performance.now() - beganAt >= TURN_MS;
  };
  const next = (): void => {
    isOver(); // begins the time of this turn
    later[0]?.();
    // What awaits the message runs in microtasks, and the next tick after them.
    queueMicrotask(() => process.nextTick(deliverNext));
  };
  const deliverNext = (): void => {
    later.shift();
    if (later.length === 0) return;
    if (isOver()) setImmediate(next);
    else next();
  };

  return (message) => {
    if (later.length === 0 && !isOver()) {
      deliver(message);
      return;
    }
    if (later.push(() => deliver(message)) === 1) setImmediate(next);
  };
};
