import type { IncomingMessage } from 'node:http';

/** The address of the client; behind a proxy, the last one in `X-Forwarded-For`, which the proxy has added. */
export const clientAddress = ({ headers, socket }: IncomingMessage, isBehindProxy: boolean): string => {
  const forwarded = isBehindProxy ? headers['x-forwarded-for'] : undefined;
  return (
    String(forwarded ?? socket.remoteAddress ?? '')
      .split(',')
      .at(-1)
      ?.trim() ?? ''
  );
};
