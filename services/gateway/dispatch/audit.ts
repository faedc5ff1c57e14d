import type { Interceptor } from './dispatch.js';

/** The place where writes and refusals are recorded for auditors. Nothing is recorded yet beside the log itself. */
export const audit: Interceptor = (_call, next) => next();
