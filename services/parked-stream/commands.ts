/** Asks for a parked stream to be read again. */
export type ParkedStreamCommand = { readonly type: 'RetryParkedStream'; readonly stream: string };
