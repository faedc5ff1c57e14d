/** A write that nobody has confirmed for so long is answered with a timeout, whatever was asked for. */
export const WRITE_TIMEOUT_MS = 2_000;
