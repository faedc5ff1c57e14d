/**
 * The URLs of an answer with inputs and outputs: empty, because no URLs are signed. Clients expect the messages to be
 * set.
 */
export const UNSIGNED_URLS = Object.freeze({ inputs: Object.freeze({}), outputs: Object.freeze({}) });
