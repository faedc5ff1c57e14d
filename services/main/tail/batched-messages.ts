/**
 * Posts all messages of one turn of the event loop to another thread in one batch: a message costs as much as a hundred
 * of its elements.
 */
export const batchMessages = <Message>(post: (messages: readonly Message[]) => void): ((message: Message) => void) => {
  let waiting: Message[] = [];
  const flush = (): void => {
    const messages = waiting;
    waiting = [];
    post(messages);
  };
  return (message) => {
    if (waiting.push(message) === 1) setImmediate(flush);
  };
};
