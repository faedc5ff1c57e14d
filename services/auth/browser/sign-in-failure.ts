import type { ServerResponse } from 'node:http';
import { html, page, pageHeaders, problem } from '../server/pages/page.js';

/** The reason why signing in or out cannot go on: an HTTP status, and a text for the person. */
export class SignInFailure extends Error {
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** Answers with a page that gives the reason, with a link to the console, where the person can sign in again. */
export const sendSignInFailure = (response: ServerResponse, { status, message }: SignInFailure): void => {
  const again = html`${problem(message)}
    <p><a href="console">Start again</a></p>`;
  response.writeHead(status, pageHeaders()).end(page('Signing in or out has failed', again));
};
