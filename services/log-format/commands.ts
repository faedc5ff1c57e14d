/** To be sent only when all processes can read events of the format. */
export type LogFormatCommand = { readonly type: 'SetLogFormat'; readonly format: number };
