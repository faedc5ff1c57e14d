import type { Interceptor } from './dispatch.js';

/** The place where the caller of a call becomes known. Nobody is asked who they are yet: `principal` stays empty. */
export const authenticate: Interceptor = (_call, next) => next();
