import type { Interceptor } from './dispatch.js';

/** Records writes and refusals for auditors. Not built yet: the event log is the only record. */
export const audit: Interceptor = (_call, next) => next();
