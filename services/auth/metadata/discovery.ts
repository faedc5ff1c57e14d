import type { IncomingMessage, ServerResponse } from 'node:http';

const PATH = '/.well-known/openid-configuration';
const SEE_OTHER = 303;

/** Answers requests for one path. */
type Redirect = {
  readonly answers: (path: string) => boolean;
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
};

/** Redirects the path of the metadata of OpenID Connect to the metadata of an issuer in another process. */
export const issuerDiscovery = (issuer: string): Redirect => ({
  answers: (path) => path === PATH,
  answer: (_request, response) => {
    response.writeHead(SEE_OTHER, { location: `${issuer.replace(/\/$/u, '')}${PATH}` }).end();
    return Promise.resolve();
  },
});
