import type { LogFormatEvent } from './events.js';

/** The format that the log is written in. */
export type LogFormatState = { readonly format: number };

/** A log that has no event of its format has format 1. */
export const initialLogFormat = (): LogFormatState => ({ format: 1 });

export const evolveLogFormat = (_state: LogFormatState, { data }: LogFormatEvent): LogFormatState => ({
  format: data.format,
});
