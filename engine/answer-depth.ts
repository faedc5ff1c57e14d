/**
 * Limit of nesting when an answer of the control plane is decoded. The control plane accepts requests that are nested
 * 100 deep, which is also what the library decodes by default; answers contain messages of requests some levels deeper.
 */
export const ANSWER_DEPTH = 200;
