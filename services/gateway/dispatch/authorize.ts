import type { Interceptor } from './dispatch.js';

/** The place where a call is held to what its RPC requires of the principal. Everybody may do everything yet. */
export const authorize: Interceptor = (_call, next) => next();
