import type { Interceptor } from './dispatch.js';

/** Identifies the caller of a call. Not built yet: `principal` stays empty. */
export const authenticate: Interceptor = (_call, next) => next();
