/** Test files by name, each with a reason. The lists of suites name end-to-end tests that `npm test` does not run. */
type Apart = Readonly<Record<string, string>>;

/** `npm run test:loads`: tests that keep a machine busy for a minute or more. */
export const LOADS: Apart = {
  'authorization-server-kill':
    'kills the authorization server after writes of its state; after every fifth one by default',
  'eventstore-cluster':
    'kills, stops and cuts off the nodes of an event store under load; a few ways of many by default',
  'engine-feed-kill': 'kills and stops engines of the feed, and the processes that give them work, under load',
  kill: 'kills a server again and again under load, and compares all that was acknowledged with the log and the views',
  'kill-two-processes': 'kills two control planes and their log by turns under load',
  'large-launch-plans': 'registers launch plans of many megabytes while other calls are answered',
  'large-launches': 'launches executions with large inputs while other calls are answered',
  'large-tasks': 'registers a task of many megabytes while other calls are answered',
  'large-workflows': 'compiles workflows of many nodes while other calls are answered',
  'lists-while-changing': 'reads lists while executions are launched and ended as fast as they can be',
  'list-costs': 'lists in a store of many executions, and counts what each page reads',
  'load-shedding': 'sends more calls than a server takes while its disk does not answer',
  'log-copy': 'copies thousands of events from log to log, killed on the way',
  'roles-kill': 'kills five processes of a role each by turns under load, while clients follow the log',
  'schedules-takeover': 'stops the reactor that fires schedules past its lease, and counts every tick',
};

/** `npm run test:matrices`: one check for each of very many requests, connections, faults or recorded operations. */
export const MATRICES: Apart = {
  access: 'sends each RPC without a token, without the permission, and with it',
  'conformance/hostile-agents':
    'sends requests with each kind of mistake to each RPC of the agents, over each transport',
  idempotency: 'sends each RPC that changes something again, with the same key and with others',
  'unfinished-requests': 'sends large requests that are never completed',
  'conformance/limits': 'sends messages of the largest size that each limit allows, and larger ones',
  'conformance/hostile': 'sends requests with each kind of mistake to each RPC, over each transport',
  'conformance/openapi-fuzz': 'sends requests generated from the schemas of the API description to each operation',
  'startup-faults': 'starts a process for each of many faults of stores and of Kafka',
  'bad-input-bytes': 'changes the bytes of requests in every way that it knows',
  'eventstore-hostile': 'sends changed messages of every RPC of the EventStoreDB protocol to two servers',
  'eventstore-hostile-connections': 'opens connections by the hundred that say nothing, or nonsense',
  'eventstore-recording':
    'plays 185 recorded operations, most of them against three servers, and waits for what must not come',
};

/** `npm run test:operations`: what operators, people and programs do with processes that start, end and are killed. */
export const OPERATIONS: Apart = {
  'authorization-server': 'kills servers while people, programs and devices sign in',
  backup: 'makes and restores backups, killed on the way',
  'browser-sessions': 'signs people in at a server and its issuer',
  'command-line': 'starts commands for their help and their refusals',
  'command-line-people': 'starts the commands with which people follow, launch and end executions',
  'command-line-serving': 'starts and stops servers, and runs commands and engines beside them',
  'command-line-sign-in': 'signs in from commands, each of which is a process',
  concurrency: 'kills servers between taking a slot and recording an execution',
  'data-directory-gone': 'takes the data directory of servers away',
  'engine-bridge': 'kills and starts bridges to a cluster',
  'engine-credentials': 'starts engines with each kind of credentials',
  'eventstore-stalls': 'waits until a log that has fallen silent is connected to anew',
  'export-files': 'starts the command that writes the log to files',
  'first-start': 'translates the TypeScript of a checkout at its first start',
  health: 'starts control planes of many processes',
  'load-balancer': 'restarts servers behind a load balancer',
  'log-format': 'starts servers and commands on a log before and after its switch to a newer format',
  notifications: 'kills servers between a mail and its answer',
  'named-consumers': 'kills consumers and the server that sends them events',
  'open-nodes': 'kills a server while its views end the nodes of an execution',
  'parked-streams': 'starts servers on a log with events that they cannot read',
  passwords: 'starts the commands that keep users and clients beside a server',
  'path-prefix': 'signs people in behind a proxy that has a path prefix',
  'payloads-gc': 'removes payloads beside a server that writes them',
  'reads-behind': 'kills and starts servers whose views are held back',
  reactors: 'kills a server after each step from taking a slot to giving it back',
  readme: 'runs the commands of the README',
  'release-before': 'runs the release before beside this one on one log',
  roles: 'starts one or two processes of each role',
  'roles-parked': 'starts a process for each role on a log with events that they cannot read',
  sandbox: 'starts the sandbox with most of its own flags',
  schedules: 'waits for many ticks of a schedule that fires every second',
  'two-processes': 'starts two control planes on a log server',
  tls: 'starts servers and clients with good, changed and wrong certificates',
};

/**
 * Test files that `.ci/run` leaves out unless it is called with `--nightly`, because a landing has 30 minutes on a slow
 * machine: by path below `test`, with the reason why a landing can do without it. `npm run test:all` runs them.
 */
const NIGHTLY: Apart = {
  'console/auditor': 'opens the page of the audit, whose entries have unit tests',
  'console/definitions': 'stories.test.ts opens the same pages for fewer definitions',
  'console/signing-in': 'browser-sessions.test.ts signs in without a browser',
  'e2e/authorization-server': 'repeats flows of sign-in around kills',
  'e2e/authorization-server-kill': 'repeats flows of sign-in around kills',
  'e2e/bad-input-bytes': 'openapi-fuzz.test.ts and hostile.test.ts send malformed requests too',
  'e2e/command-line-sign-in': 'browser-sessions.test.ts signs people in without commands',
  'e2e/engine-credentials': 'starts an engine for each kind of credentials; sandbox.test.ts has one with a token',
  'e2e/eventstore-cluster': 'repeats under load what contract tests do with a cluster',
  'e2e/eventstore-hostile-connections': 'opens connections by the hundred to a port that has few changes',
  'e2e/eventstore-recording': 'plays recordings to a port that has few changes',
  'e2e/eventstore-stalls': 'contract tests have event stores that fall silent',
  'e2e/health': 'starts a process for each role, as roles.test.ts does',
  'e2e/kill-two-processes': 'engine-feed-kill.test.ts kills processes on an event store, too',
  'e2e/large-launch-plans': 'measures calls beside large messages',
  'e2e/large-launches': 'measures calls beside large messages',
  'e2e/large-tasks': 'measures calls beside large messages',
  'e2e/large-workflows': 'measures calls beside large messages',
  'e2e/list-costs': 'counts what pages read; tests of lists compare their answers',
  'e2e/load-balancer': 'restarts under load; roles.test.ts restarts every process in turn',
  'e2e/log-copy': 'copies and kills; operators copy a log seldom',
  'e2e/path-prefix': 'signs in behind a proxy, as few deployments do',
  'e2e/roles-parked': 'parked-streams.test.ts has such events in one process',
  'e2e/schedules': 'unit tests fire schedules with a clock of their own',
  'e2e/schedules-takeover': 'reactors.test.ts kills reactors, unit tests fire schedules',
  'e2e/startup-faults': 'starts a process for each of many faults',
  'e2e/tls': 'sandbox.test.ts serves over TLS with good certificates',
  'integration/authorization-state.mongo': 'contract tests keep such state in SQLite',
  'integration/keycloak/keycloak': 'end-to-end tests sign in at another issuer',
  'integration/kafka-process': 'kills the export again and again; kafka-export.test.ts exports without kills',
  'integration/killed-writer.mongo': 'kills writers of views; views-rebuild.mongo.test.ts compares views with the log',
  'integration/list-costs.mongo': 'counts what pages read; tests of lists compare their answers',
  'integration/list-shapes.mongo': 'paging.mongo.test.ts lists executions in many orders',
  'integration/payloads-gc.s3': 'payloads-gc.test.ts does the same with files',
  'integration/startup-faults': 'starts a process for each of many faults',
  'integration/stopped-servers': 'waits for servers that cannot be reached for a while',
};

/** The compiled files of a list of end-to-end tests. */
export const filesOf = (apart: Apart): readonly string[] =>
  Object.keys(apart).map((name) => `dist/test/e2e/${name}.test.js`);

/** The compiled files of {@link NIGHTLY}. */
export const nightlyFiles = (): readonly string[] => Object.keys(NIGHTLY).map((path) => `dist/test/${path}.test.js`);
