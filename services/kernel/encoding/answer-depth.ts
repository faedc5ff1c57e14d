/**
 * Limit of nesting when an answer is decoded. Requests may be nested 100 deep, which is also what the library decodes
 * by default; answers contain messages of requests some levels deeper.
 */
export const ANSWER_DEPTH = 200;
