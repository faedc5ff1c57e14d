import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { compactVerify } from 'jose';
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  calculatePKCECodeChallenge,
  type Configuration,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import * as z from 'zod';
import type { AuthorizationState } from '../../kernel/ports/authorization-state.js';
import type { Claims } from '../tokens/claims.js';
import { fetchJson } from '../tokens/issuer-metadata.js';
import { remoteKeys } from '../tokens/key-set.js';

/** An OpenID Connect provider that signs people in for this authorization server. */
export type UpstreamProvider = {
  /** The prefix of the names of its people, before a colon, so that no such name is that of a user of this server. */
  readonly id: string;
  /** The name that the login page shows. */
  readonly name: string;
  readonly scope: string;
  /** The claim of the ID token that names a person. */
  readonly subjectClaim: string;
  /** The claim of the ID token that lists the groups of a person. */
  readonly groupsClaim: string;
  /** The metadata of the provider, and the client by which flightlog is known there. */
  readonly configuration: () => Promise<Configuration>;
};

/** A person that a provider has signed in. */
export type UpstreamPerson = {
  readonly username: string;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  readonly groups: readonly string[];
};

/** Signs people in at a provider. */
export interface Upstream {
  readonly name: string;
  /**
   * Begins a sign-in for an interaction.
   *
   * @returns the address at the provider to which the browser is redirected.
   * @throws {Error} when the provider does not answer.
   */
  begin(interaction: string): Promise<URL>;
  /**
   * Ends the sign-in of an interaction with the parameters that came back, and stores the person.
   *
   * @returns the account of the person.
   * @throws {Error} when the answer is of another sign-in, was used before, or the provider refuses or does not answer.
   */
  end(interaction: string, answer: URLSearchParams): Promise<string>;
  /** The person of an account, for eight hours after its last sign-in. */
  person(account: string): Promise<UpstreamPerson | undefined>;
  /**
   * The address at the provider that signs the person of an account out there; `undefined` for people of this server,
   * and where the provider has no such address or does not answer.
   */
  signOut(account: string | undefined): Promise<URL | undefined>;
}

/** The path at which the provider returns browsers, after signing in and out. */
export const UPSTREAM_CALLBACK = '/oauth2/upstream';

const SIGN_IN = 'UpstreamSignIn';
const PERSON = 'UpstreamPerson';
const SIGN_IN_SECONDS = 10 * 60;
const PERSON_SECONDS = 8 * 60 * 60;

const begun = z.object({ nonce: z.string(), verifier: z.string(), until: z.number() });

const person = z.object({
  username: z.string(),
  name: z.string().optional(),
  email: z.string().optional(),
  groups: z.array(z.string()),
  until: z.number(),
});

const keyOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

const textIn = (claims: Claims, name: string): string | undefined =>
  typeof claims[name] === 'string' && claims[name] !== '' ? claims[name] : undefined;

/** A list of texts, or one text: the name of a group may have spaces. */
const textsIn = (value: unknown): readonly string[] => {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((each): each is string => typeof each === 'string' && each !== '');
};

type Naming = Pick<UpstreamProvider, 'id' | 'subjectClaim' | 'groupsClaim'>;

const personOf = (claims: Claims, { id, subjectClaim, groupsClaim }: Naming): UpstreamPerson & { account: string } => {
  const subject = textIn(claims, subjectClaim);
  if (subject === undefined) throw new Error(`the ID token has no claim ${subjectClaim}`);
  return {
    account: `${id}:${subject}`,
    username: `${id}:${textIn(claims, 'preferred_username') ?? subject}`,
    name: textIn(claims, 'name'),
    email: textIn(claims, 'email'),
    groups: textsIn(claims[groupsClaim]),
  };
};

/**
 * Checks the signature of an ID token, which a client may leave unchecked only if the token came over TLS (OpenID
 * Connect Core 3.1.3.7). The keys are fetched for each sign-in, because the provider may have changed them.
 */
const checkSignature = async (configuration: Configuration, idToken: string): Promise<void> => {
  const { issuer, token_endpoint: endpoint = '', jwks_uri: jwksUrl } = configuration.serverMetadata();
  if (endpoint.startsWith('https:')) return;
  await compactVerify(idToken, remoteKeys({ issuer, jwksUrl }, { fetchJson, now: Date.now }));
};

type Begun = Omit<z.output<typeof begun>, 'until'> & { readonly state: string };

/** Exchanges the code in the address to which a browser came back for the claims of an ID token. */
const claimsAt = async (configuration: Configuration, url: URL, { state, nonce, verifier }: Begun): Promise<Claims> => {
  const tokens = await authorizationCodeGrant(configuration, url, {
    pkceCodeVerifier: verifier,
    expectedState: state,
    expectedNonce: nonce,
    idTokenExpected: true,
  });
  await checkSignature(configuration, tokens.id_token ?? '');
  return tokens.claims() ?? {};
};

type Options = {
  readonly provider: UpstreamProvider;
  readonly state: Pick<AuthorizationState, 'put' | 'find' | 'consume'>;
  /** The address of this server. */
  readonly issuer: string;
  readonly now: () => number;
};

/**
 * Signs people in at a provider, by the code flow with PKCE; what it must remember is in the state, for all processes.
 */
export const upstream = ({ provider, state, issuer, now }: Options): Upstream => {
  const seconds = (): number => Math.floor(now() / 1_000);

  const store = (kind: string, id: string, content: object, lifetime: number): Promise<void> => {
    const expiresAt = seconds() + lifetime;
    const text = JSON.stringify({ ...content, until: expiresAt });
    return state.put({ kind, key: keyOf(id), content: text, grant: undefined, alias: undefined, expiresAt });
  };

  const stored = async <Shape extends z.ZodType<{ readonly until: number }>>(
    kind: string,
    id: string,
    shape: Shape,
  ) => {
    const found = await state.find(kind, keyOf(id));
    const content = found && shape.parse(JSON.parse(found.content));
    return content && content.until > seconds() ? content : undefined;
  };

  const rememberPerson = async (claims: Claims): Promise<string> => {
    const { account, ...known } = personOf(claims, provider);
    await store(PERSON, account, known, PERSON_SECONDS);
    return account;
  };

  return {
    name: provider.name,
    begin: async (interaction) => {
      const configuration = await provider.configuration(); // before anything is stored
      const sent = { state: `${interaction}.${randomState()}`, nonce: randomNonce() };
      const verifier = randomPKCECodeVerifier();
      await store(SIGN_IN, sent.state, { nonce: sent.nonce, verifier }, SIGN_IN_SECONDS);
      return buildAuthorizationUrl(configuration, {
        ...sent,
        redirect_uri: `${issuer}${UPSTREAM_CALLBACK}`,
        scope: provider.scope,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
    },
    end: async (interaction, answer) => {
      const id = answer.get('state') ?? '';
      const known = id.startsWith(`${interaction}.`) ? await stored(SIGN_IN, id, begun) : undefined;
      if (!known || !(await state.consume(SIGN_IN, keyOf(id), seconds())))
        throw new Error('the answer belongs to no sign-in of this browser');
      const url = new URL(`${issuer}${UPSTREAM_CALLBACK}?${answer.toString()}`);
      return rememberPerson(await claimsAt(await provider.configuration(), url, { ...known, state: id }));
    },
    person: (account) => (account.includes(':') ? stored(PERSON, account, person) : Promise.resolve(undefined)),
    signOut: async (account) => {
      if (account?.startsWith(`${provider.id}:`) !== true) return undefined;
      const configuration = await provider.configuration().catch(() => undefined);
      if (configuration?.serverMetadata().end_session_endpoint === undefined) return undefined;
      // Without an ID token, which would be a secret to keep, the provider may ask the person first.
      return buildEndSessionUrl(configuration, { post_logout_redirect_uri: `${issuer}${UPSTREAM_CALLBACK}` });
    },
  };
};

/** The paths to which browsers that come back from the provider are redirected. */
export type ReturnPages = { readonly interactions: string; readonly signedOut: string };

const INTERACTION = /^([\w-]{1,64})\./u;

/**
 * Redirects a browser that comes back from the provider. After a sign-in it goes to the page of its interaction. Only
 * requests for that page carry the cookie of the interaction, so only the browser that began the sign-in can end it.
 * After a sign-out, when the provider sends no parameters, it goes to the page that is shown after a sign-out.
 */
export const returnFromUpstream = (request: IncomingMessage, response: ServerResponse, pages: ReturnPages): void => {
  const { searchParams } = new URL(request.url ?? '', 'http://localhost');
  const [, interaction = 'unknown'] = INTERACTION.exec(searchParams.get('state') ?? '') ?? [];
  const { interactions, signedOut } = pages;
  const location =
    searchParams.size === 0 ? signedOut : `${interactions}${interaction}/upstream?${searchParams.toString()}`;
  response.writeHead(303, { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }).end();
};
