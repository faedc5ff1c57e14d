import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { runEngine } from '../../../engine/engine.js';
import type { EngineOptions } from '../../../engine/options.js';
import { clientToken } from '../../../engine/tokens/client-credentials.js';
import type { ControlPlane } from '../../../engine/control-plane.js';
import { addresses } from '../announcement.js';
import type { Configuration } from '../../config/configuration.js';
import { OperatorError } from '../../config/operator-errors.js';
import { mailRule } from '../../config/notification-settings.js';
import { assertAllowed } from '../insecure.js';
import { openLogger } from '../../main/logger.js';
import { type SandboxAccess, withAccess } from './sandbox-access.js';
import { areSamplesIncomplete, registerSamples, SAMPLE_EXECUTION, SAMPLE_GRAPHS } from './samples.js';
import { type Running, startServer } from '../../main/server.js';
import { onStopSignals } from '../stop-signals.js';

/** The flags of `sandbox` that are not settings. */
export type SandboxFlags = {
  /** Maximum number of events per second that the engine reports; 0 is no limit. */
  readonly engineRate: number;
  readonly failureProbability: number;
  readonly gates: EngineOptions['gates'];
  /** With authentication. */
  readonly auth?: boolean;
  /** The engine polls lists instead of getting its work from the feed. */
  readonly poll: boolean;
};

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const LAUNCH = {
  project: 'flytesnacks',
  domain: 'development',
  spec: {
    launchPlan: {
      resourceType: 'LAUNCH_PLAN',
      project: 'flytesnacks',
      domain: 'development',
      name: 'hello.hello',
      version: 'v1',
    },
  },
};

const greet = (configuration: Configuration, server: Running, access: SandboxAccess | undefined): void => {
  const mode = access ? 'with authentication' : 'no authentication';
  print(`flightlog sandbox: ${mode}, for trying things out\n\n${addresses(configuration, server)}\n`);
  if (!access) return;
  const { id, secret } = access.user;
  print(`Sign in at ${server.http}/console as ${id} with the password ${secret}, which the next run replaces.\n`);
};

/** The absolute path of the program, so that a printed command works in any folder. */
const PROGRAM = fileURLToPath(new URL('../../../../flightlog.js', import.meta.url));

const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/u.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

const outboxText = (outbox: string): string => (outbox === '' ? '' : ` Mail about executions is written to ${outbox}.`);

/** The command that sends a request to the server; it does not verify a certificate, which the system may not trust. */
const curlFor = (http: string): string => (http.startsWith('https:') ? 'curl -sk' : 'curl -s');

/** The shell command that sets TOKEN for the commands after it. */
const tokenCommand = (http: string, { samples: { id, secret } }: SandboxAccess): string => `
  TOKEN=$(${curlFor(http)} ${http}/oauth2/token -u ${id}:${secret} -d grant_type=client_credentials -d scope=all | node -pe 'JSON.parse(fs.readFileSync(0)).access_token')
`;

const suggest = ({ http, data }: Running, outbox: string, access: SandboxAccess | undefined): void => {
  const executions = `${http}/api/v1/executions`;
  const curl = `${curlFor(http)}${access ? ' -H "authorization: Bearer $TOKEN"' : ''}`;
  print(`
Three commands to try, in another terminal${access ? ', with a token' : ''}:
${access ? tokenCommand(http, access) : ''}
  ${curl} ${executions}/${SAMPLE_EXECUTION}

  ${curl} ${executions} -H 'content-type: application/json' -d '${JSON.stringify(LAUNCH)}'

  node ${quoted(PROGRAM)} log cat --data ${quoted(data)} --execution ${SAMPLE_EXECUTION}

A simulated engine runs what is launched, and schedules of active launch plans fire.${outboxText(outbox)}
Ctrl-C stops.`);
};

const counted = (count: number): string => `${count} execution${count === 1 ? '' : 's'}`;

/**
 * Registers the samples in an empty log, and in a log where an earlier run was stopped before it had registered all of
 * them. Any other log stays as it is.
 */
const registerMissingSamples = async ({ isEmpty, executions }: Running, plane: ControlPlane): Promise<void> => {
  if (!isEmpty && !(await areSamplesIncomplete(plane))) {
    print(`Found ${counted(executions)}; nothing was registered again.`);
    return;
  }
  const registered = await registerSamples(plane);
  print(`Registered ${registered} sample tasks, workflows and launch plans, and launched ${SAMPLE_EXECUTION}.`);
};

const startEngine = (
  { onWork, hasFeed }: Running,
  { engineRate, failureProbability, gates, poll }: SandboxFlags,
  { logger, plane }: { readonly logger: Logger; readonly plane: ControlPlane },
): { stop: () => Promise<void>; ended: Promise<unknown> } => {
  const stopping = new AbortController();
  const options: EngineOptions = {
    ...plane,
    concurrency: 16,
    rate: engineRate,
    failureProbability,
    seed: 'sandbox',
    gates,
    dynamicDirectory: SAMPLE_GRAPHS,
    untilIdle: false,
    feed: hasFeed && !poll ? { group: 'default', name: 'sandbox' } : undefined,
  };
  const ended = runEngine(options, { signal: stopping.signal, logger, ...(!options.feed && { onWork }) });
  return {
    ended,
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
};

/**
 * Writes mail to a folder of the data directory, unless a mail server or a folder is configured. If mail goes there and
 * no rules are configured, there is mail about each execution that has ended.
 */
const withOutbox = (given: Configuration): Configuration => {
  const { smtp, outbox, rules } = given.notifications;
  if (smtp.host !== '' || outbox !== '') return given;
  const effective = rules.length > 0 ? rules : [mailRule('you@example.com')];
  return {
    ...given,
    notifications: { ...given.notifications, outbox: resolve(given.data, 'outbox'), rules: effective },
  };
};

/** The server as a client of this run reaches it: with tokens, or without them where there is no client. */
const planeFor = (
  { grpc: endpoint }: Running,
  client: SandboxAccess['engine'] | undefined,
  { tls: { cert_file: certFile }, logger }: Pick<Configuration, 'tls'> & { readonly logger: Logger },
): ControlPlane => {
  // The server is this process, whatever names its certificate has.
  const plane: ControlPlane = { endpoint, tls: certFile === '' ? undefined : { isUnverified: true } };
  if (client === undefined) return plane;
  const getToken = clientToken(plane, { id: client.id, secret: () => client.secret }, (err) =>
    logger.warn({ err }, 'no access token; trying again'),
  );
  return { ...plane, getToken };
};

/** The settings of the sandbox and, with authentication, the user and the clients of this run. */
const sandboxSettings = async (
  given: Configuration,
  { auth = false }: SandboxFlags,
): Promise<{ readonly configuration: Configuration; readonly access?: SandboxAccess }> => {
  const configuration = withOutbox({ ...given, role: ['all'] });
  return auth ? withAccess(configuration) : { configuration };
};

const assertNoClientCertificates = ({ tls }: Configuration): void => {
  if (tls.client_ca_file === '') return;
  throw new OperatorError(
    'the engine of the sandbox has no client certificate: leave out tls.client_ca_file, or use flightlog serve',
  );
};

/**
 * Serves with samples and a simulated engine until a stop signal.
 *
 * @throws {InvalidConfiguration} when a file that the configuration names cannot be used.
 * @throws {Fault} when a store fails during the start.
 * @throws {OperatorError} when the configuration is not allowed, a setting cannot be used, or a component of the server
 *   has failed permanently, such as the log or the views.
 */
export const runSandbox = async (given: Configuration, flags: SandboxFlags): Promise<void> => {
  assertNoClientCertificates(given);
  const { configuration, access } = await sandboxSettings(given, flags);
  assertAllowed(configuration);
  const logger = openLogger(configuration.log_level);
  const server = await startServer(configuration, logger);
  const stopped = onStopSignals();
  greet(configuration, server, access);
  const planeOptions = { ...configuration, logger };
  await Promise.race([registerMissingSamples(server, planeFor(server, access?.samples, planeOptions)), server.failed]);
  const engine = startEngine(server, flags, { logger, plane: planeFor(server, access?.engine, planeOptions) });
  suggest(server, configuration.notifications.outbox, access);
  await Promise.race([stopped, engine.ended, server.failed]);
  print('\nStopping; Ctrl-C again ends at once.');
  await engine.stop();
  await server.close();
  print(
    server.lost() === undefined ? 'Stopped. The data is kept.' : `Stopped. The data is not kept: ${server.lost()}.`,
  );
};
