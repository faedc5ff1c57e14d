/** The longest time that messages, and what is made of them, keep this thread in one turn of the event loop. */
const TURN_MS = 10;

/**
 * Delivers messages of another thread in order. Node passes on up to 1,000 in one turn of the event loop, and what awaits
 * them runs in the same turn. After 10 ms each further message gets a turn of its own, so that other calls run in between.
 */
export const deliverInTurns = <Message>(deliver: (message: Message) => void): ((message: Message) => void) => {
  const later: Message[] = [];
  let beganAt: number | undefined;

  const next = (): void => {
    const message = later.shift();
    if (later.length > 0) setImmediate(next);
    if (message !== undefined) deliver(message);
  };
  const isOver = (): boolean => {
    if (beganAt === undefined) {
      beganAt = performance.now();
      setImmediate(() => (beganAt = undefined));
    }
    return performance.now() - beganAt >= TURN_MS;
  };

  return (message) => {
    if (later.length === 0 && !isOver()) {
      deliver(message);
      return;
    }
    if (later.push(message) === 1) setImmediate(next);
  };
};
