import type { Interceptor } from './dispatch.js';

/** Answers up to this size, in bytes, are not counted: the call itself takes more memory. */
const UNCOUNTED_BYTES = 1_024;

/**
 * Counts an answer against the memory budget for answers that callers have not read yet.
 *
 * @throws {RpcError} RESOURCE_EXHAUSTED when there is no memory for it.
 */
export const memoryBudget: Interceptor = (call, next) =>
  next().then((answer) => {
    if (answer.length > UNCOUNTED_BYTES) call.reserveAnswer(answer.length);
    return answer;
  });
