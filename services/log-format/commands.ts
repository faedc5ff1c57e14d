/** Asked for once all processes can read what is written in the format. */
export type LogFormatCommand = { readonly type: 'SetLogFormat'; readonly format: number };
