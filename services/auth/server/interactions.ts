import type { IncomingMessage, ServerResponse } from 'node:http';
import { errors, type InteractionResults, type Provider } from 'oidc-provider';
import { asError } from '../../kernel/error-text.js';
import { isIssuerAway, refusalCode } from '../issuer-errors.js';
import type { Users } from '../users/users.js';
import { pathPrefix } from './endpoints.js';
import type { OnAttempt, SignInAttempt } from './sign-in-attempt.js';
import { checkLimited, type SignInLimits } from './sign-in-limits.js';
import { failurePage, consentPage, loginPage } from './pages/sign-in.js';
import { pageHeaders } from './pages/page.js';
import type { Upstream } from './upstream.js';

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** The services that the pages of signing in need. */
export type SignInServices = {
  readonly provider: Provider;
  readonly users: Users;
  readonly limits: SignInLimits;
  readonly onAttempt: OnAttempt;
  /** The upstream provider that signs people in; `undefined` when there is none. */
  readonly upstream: Upstream | undefined;
  /** Called with the cause of a sign-in that failed at that provider or in this server, for the log. */
  readonly onError: (error: Error) => void;
};

/** One request of a browser for a page of signing in. */
export type PageRequest = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly address: string;
};

/** The path of the pages of an interaction. */
export const INTERACTIONS = '/oauth2/interaction/';

const PATH = /^\/oauth2\/interaction\/[\w-]{1,64}(?:\/(login|consent|abort|upstream))?$/u;
const MAX_FORM_BYTES = 16 * 1024;

const TOO_MANY_REQUESTS = 429;

const send = (response: ServerResponse, status: number, body: string, redirects: readonly string[] = []): void => {
  response.writeHead(status, pageHeaders(redirects)).end(body);
};

/** Reads a form; `undefined` when it is larger than any of ours. */
const formOf = async (request: IncomingMessage): Promise<URLSearchParams | undefined> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_FORM_BYTES) return undefined;
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
};

/**
 * True for a form of a page elsewhere, by the headers in which browsers name its origin. Without them, the cookies
 * protect the form: browsers send them from this site alone. The server's own pages have the origin `null`, because
 * they send no referrer.
 */
const isFromElsewhere = ({ headers }: IncomingMessage, issuer: string): boolean =>
  !['same-origin', 'none', undefined].includes(headers['sec-fetch-site']) ||
  ![new URL(issuer).origin, 'null', undefined].includes(headers.origin);

const redirectOf = ({ params }: Interaction): string | undefined => {
  const uri = params['redirect_uri'];
  return typeof uri === 'string' && URL.canParse(uri) ? new URL(uri).origin : undefined;
};

const clientOf = ({ params }: Interaction): string => String(params['client_id']);

const scopesOf = ({ params }: Interaction): readonly string[] =>
  typeof params['scope'] === 'string' ? params['scope'].split(' ') : [];

const targetOf = (interaction: Interaction): string => {
  const origin = redirectOf(interaction);
  return origin === undefined ? '' : `You will be sent to ${origin}.`;
};

/**
 * The sources, for the content security policy, to which the form of a page may lead in the end. A policy cannot name
 * an IPv6 address: the scheme stands for it.
 */
const redirectsOf = (interaction: Interaction): readonly string[] => {
  const origin = redirectOf(interaction);
  if (origin === undefined) return [];
  return [origin.includes('[') ? new URL(origin).protocol : origin];
};

const tooManyText = (seconds: number): string => `Too many attempts. Try again in ${seconds} seconds.`;

type Shown = { readonly interaction: Interaction; readonly path: string; readonly response: ServerResponse };

const show = (
  { upstream }: SignInServices,
  { interaction, path, response }: Shown,
  failure?: string,
  status = 200,
): void => {
  const client = clientOf(interaction);
  const user = interaction.session?.accountId;
  const body =
    interaction.prompt.name === 'login' || user === undefined
      ? loginPage(path, { client, upstream: upstream?.name, failure })
      : consentPage(path, { client, user, scopes: scopesOf(interaction), target: targetOf(interaction) });
  send(response, status, body, redirectsOf(interaction));
};

/** Records what the person allows; a grant that is there already is extended. */
const allow = async (provider: Provider, interaction: Interaction): Promise<InteractionResults> => {
  const { prompt, grantId, session } = interaction;
  const known = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  const grant = known ?? new provider.Grant({ accountId: session?.accountId ?? '', clientId: clientOf(interaction) });
  const { missingOIDCScope: scopes, missingResourceScopes: byResource } = prompt.details as {
    readonly missingOIDCScope?: readonly string[];
    readonly missingResourceScopes?: Readonly<Record<string, readonly string[]>>;
  };
  if (scopes) grant.addOIDCScope(scopes.join(' '));
  for (const [resource, each] of Object.entries(byResource ?? {})) grant.addResourceScope(resource, each.join(' '));
  return { consent: { grantId: await grant.save() } };
};

type Answering = { readonly interaction: Interaction; readonly path: string } & PageRequest;

const logIn = async (
  { provider, users, limits, onAttempt, upstream }: SignInServices,
  signInRequest: Answering,
): Promise<void> => {
  const { request, response, interaction, path, address } = signInRequest;
  const form = await formOf(request);
  const [name, password] = [form?.get('name') ?? '', form?.get('password') ?? ''];
  const showAgain = (status: number, failure: string): void =>
    send(
      response,
      status,
      loginPage(path, { client: clientOf(interaction), upstream: upstream?.name, name, failure }),
      redirectsOf(interaction),
    );
  const clientId = clientOf(interaction);
  const principal = (await users.find(name)) ? name : '';
  const ended = (code: SignInAttempt['code']): void =>
    onAttempt({ action: 'login', principal, clientId, address, code });
  const checked = await checkLimited(limits, { name, address }, () => users.check(name, password));
  if ('wait' in checked) {
    ended('RESOURCE_EXHAUSTED');
    response.setHeader('retry-after', checked.wait);
    showAgain(TOO_MANY_REQUESTS, tooManyText(checked.wait));
    return;
  }
  if (!checked.isRight) {
    ended('UNAUTHENTICATED');
    showAgain(200, 'The user name or the password is wrong.');
    return;
  }
  ended('OK');
  await provider.interactionFinished(request, response, { login: { accountId: name } });
};

const awayText = ({ name }: Upstream): string => `${name} does not answer. Try again later.`;

const endUpstream = async (signIn: SignInServices, upstream: Upstream, signInRequest: Answering): Promise<void> => {
  const { request, response, interaction, address } = signInRequest;
  const { searchParams } = new URL(request.url ?? '', 'http://localhost');
  const attempt = { action: 'login', clientId: clientOf(interaction), address };
  let accountId: string;
  try {
    accountId = await upstream.end(interaction.uid, searchParams);
  } catch (error) {
    const isAway = isIssuerAway(error);
    signIn.onError(new Error(`the sign-in at ${upstream.name} has failed${refusalCode(error)}`, { cause: error }));
    signIn.onAttempt({ ...attempt, principal: '', code: isAway ? 'UNAVAILABLE' : 'UNAUTHENTICATED' });
    show(signIn, signInRequest, isAway ? awayText(upstream) : `The sign-in at ${upstream.name} has failed. Try again.`);
    return;
  }
  signIn.limits.giveBack(address); // that of its begin
  signIn.onAttempt({ ...attempt, principal: accountId, code: 'OK' });
  await signIn.provider.interactionFinished(request, response, { login: { accountId } });
};

/** Each begin stores something, so it counts as an attempt of the address until the person comes back signed in. */
const beginUpstream = async (signIn: SignInServices, upstream: Upstream, signInRequest: Answering): Promise<void> => {
  const { response, interaction, address } = signInRequest;
  const wait = signIn.limits.take(address);
  if (wait > 0) {
    response.setHeader('retry-after', wait);
    show(signIn, signInRequest, tooManyText(wait), TOO_MANY_REQUESTS);
    return;
  }
  try {
    const { href } = await upstream.begin(interaction.uid);
    response.writeHead(303, { location: href, 'cache-control': 'no-store' }).end();
  } catch (error) {
    signIn.limits.giveBack(address); // nothing was stored
    signIn.onError(new Error(`${upstream.name} does not answer`, { cause: error }));
    show(signIn, signInRequest, awayText(upstream));
  }
};

/** Redirects to the upstream provider, or ends the sign-in that has come back from there. */
const visitUpstream = async (signIn: SignInServices, upstream: Upstream, signInRequest: Answering): Promise<void> => {
  const isBack = signInRequest.request.url?.includes('?') === true;
  await (isBack ? endUpstream : beginUpstream)(signIn, upstream, signInRequest);
};

const steps: Readonly<Record<string, (signIn: SignInServices, signInRequest: Answering) => Promise<void>>> = {
  login: logIn,
  consent: async ({ provider }, { interaction, request, response }) =>
    provider.interactionFinished(request, response, await allow(provider, interaction)),
  abort: ({ provider }, { request, response }) =>
    provider.interactionFinished(
      request,
      response,
      { error: 'access_denied', error_description: 'the person has refused' },
      { mergeWithLastSubmission: false },
    ),
};

/** True when the step is the one that the interaction waits for, or the person's refusal, which it always takes. */
const isDue = (step: string, { prompt }: Interaction): boolean => step === 'abort' || step === prompt.name;

/** The upstream provider, when the interaction waits for a sign-in. */
const upstreamFor = ({ upstream }: SignInServices, { interaction, request }: Answering): Upstream | undefined =>
  interaction.prompt.name === 'login' && request.method === 'GET' ? upstream : undefined;

const answerInteraction = async (
  signIn: SignInServices,
  pageRequest: PageRequest,
  path: string,
  step: string | undefined,
) => {
  const { request, response } = pageRequest;
  const interaction = await signIn.provider.interactionDetails(request, response);
  const interactionPath = `${INTERACTIONS}${interaction.uid}`;
  if (!path.startsWith(interactionPath)) throw new errors.SessionNotFound('the cookie is of another interaction');
  const answering = { ...pageRequest, interaction, path: `${pathPrefix(signIn.provider.issuer)}${interactionPath}` };
  const take = request.method === 'POST' && step !== undefined ? steps[step] : undefined;
  if (take && step !== undefined && isDue(step, interaction)) {
    await take(signIn, answering);
    return;
  }
  const upstream = step === 'upstream' ? upstreamFor(signIn, answering) : undefined;
  if (upstream) await visitUpstream(signIn, upstream, answering);
  else show(signIn, answering);
};

/** True for the error of reading a form that its browser has cut off. */
const isCutOff = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ECONNRESET';

/** Answers with a page that says why signing in cannot go on; an error of this server is logged. */
const answerFailure = ({ onError }: SignInServices, response: ServerResponse, error: unknown): void => {
  if (error instanceof errors.SessionNotFound) {
    send(response, 400, failurePage('Start again', 'This sign-in has expired, or was begun in another browser.'));
    return;
  }
  if (!isCutOff(error)) onError(asError(error));
  send(response, 503, failurePage('Try again later', 'Signing in is not possible at the moment.'));
};

/** Answers a request for a page of signing in: the login, and the question whether a client may act for a person. */
export const answerPage = async (signIn: SignInServices, pageRequest: PageRequest): Promise<void> => {
  const { request, response } = pageRequest;
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const [known, step] = PATH.exec(path) ?? [];
  if (known === undefined || (request.method === 'POST' && isFromElsewhere(request, signIn.provider.issuer))) {
    send(response, 404, failurePage('Not found', 'There is no such page.'));
    return;
  }
  try {
    await answerInteraction(signIn, pageRequest, path, step);
  } catch (error) {
    if (response.headersSent) throw error;
    answerFailure(signIn, response, error);
  }
};
