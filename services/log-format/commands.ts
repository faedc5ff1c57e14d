/** Sets the format of the log. Send it only when all processes can read events of the format. */
export type LogFormatCommand = { readonly type: 'SetLogFormat'; readonly format: number };
