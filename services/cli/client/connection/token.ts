import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, type RequestOptions } from 'node:https';
import { once } from 'node:events';
import { create } from '@bufbuild/protobuf';
import {
  AuthMetadataService,
  OAuth2MetadataRequestSchema,
  PublicClientAuthConfigRequestSchema,
} from '../../../../proto/gen/platformidl/service/auth_pb.js';
import { OperatorError } from '../../../config/operator-errors.js';
import type { Transport } from './connection.js';
import type { ClientCredentials, Profile } from './profile.js';

const secretOf = ({ secretFile, secretVariable }: ClientCredentials): string => {
  if (secretVariable !== undefined) {
    const secret = process.env[secretVariable];
    if (secret === undefined) throw new OperatorError(`${secretVariable} is not set: it must have the client's secret`);
    return secret;
  }
  return textIn(secretFile ?? '', 'the secret of the client');
};

const textIn = (file: string, content: string): string => {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new OperatorError(`${file} cannot be read: it must have ${content}`, { cause });
  }
};

type Endpoint = { readonly url: string; readonly tls: Pick<RequestOptions, 'ca' | 'rejectUnauthorized'> };

type Answer = { readonly status: number; readonly text: string };

/** Posts a form. The built-in `fetch` knows no certificates of its own, which a profile may name. */
const postForm = async ({ url, tls }: Endpoint, form: URLSearchParams, authorization: string): Promise<Answer> => {
  const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  const options = { method: 'POST', headers };
  const request = url.startsWith('https:') ? requestHttps(url, { ...options, ...tls }) : requestHttp(url, options);
  request.end(form.toString());
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
  return { status: response.statusCode ?? 0, text };
};

const tlsOf = ({ address }: Profile): Endpoint['tls'] => {
  if (address.kind === 'rest') return {};
  const { caFile, skipVerify } = address;
  return { rejectUnauthorized: !skipVerify, ...(caFile !== undefined && { ca: readFileSync(caFile) }) };
};

/** The identifiers and secrets of clients are encoded in the header, as RFC 6749 says (section 2.3.1). */
const basic = (clientId: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`).toString('base64')}`;

const tokenIn = ({ status, text }: Answer, url: string): string => {
  try {
    const { access_token: token, error } = JSON.parse(text) as {
      readonly access_token?: string;
      readonly error?: string;
    };
    if (token !== undefined) return token;
    throw new OperatorError(`${url} gives no token: ${error ?? status}; check clientId and the client's secret`);
  } catch (cause) {
    throw cause instanceof OperatorError ? cause : new OperatorError(`${url} gives no token: ${status}`, { cause });
  }
};

const byCredentials = async (given: ClientCredentials, profile: Profile, transport: Transport): Promise<string> => {
  const { getOAuth2Metadata, getPublicClientConfig } = AuthMetadataService.method;
  const url =
    given.tokenUrl ?? (await transport.call(getOAuth2Metadata, create(OAuth2MetadataRequestSchema), {})).tokenEndpoint;
  const shown = await transport.call(getPublicClientConfig, create(PublicClientAuthConfigRequestSchema), {});
  const scopes = given.scopes.length > 0 ? given.scopes : shown.scopes;
  const audience = given.audience ?? shown.audience;
  const form = new URLSearchParams({ grant_type: 'client_credentials', scope: scopes.join(' ') });
  if (audience !== '') form.set('audience', audience);
  const secret = secretOf(given);
  const answer = await postForm({ url, tls: tlsOf(profile) }, form, basic(given.clientId, secret)).catch(
    (cause: unknown) => {
      throw new OperatorError(`${url} gives no token: it does not answer`, { cause });
    },
  );
  return tokenIn(answer, url);
};

const byCommand = ([program = '', ...args]: readonly string[]): string => {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['inherit', 'pipe', 'inherit'] }).trim();
  } catch (cause) {
    throw new OperatorError(`${program} gives no token: admin.command of the profile has failed`, { cause });
  }
};

/**
 * Gets an access token in the way of the profile; `undefined` where it has none.
 *
 * @throws {OperatorError} when a file, a command or the authorization server gives none, with the reason.
 */
export const tokenOf = async (profile: Profile, transport: Transport): Promise<string | undefined> => {
  const { signIn } = profile;
  switch (signIn.kind) {
    case 'token-file':
      return textIn(signIn.file, 'an access token');
    case 'command':
      return byCommand(signIn.command);
    case 'client-credentials':
      return byCredentials(signIn, profile, transport);
    case 'none':
      if (signIn.reason !== '') throw new OperatorError(signIn.reason);
      return undefined;
  }
};
