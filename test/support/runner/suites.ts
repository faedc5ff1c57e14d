/** End-to-end tests that `npm test` leaves out and another command runs, by file name, with the reason. */
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
  'list-costs': 'lists in a store of many executions, and counts what each page reads',
  'load-shedding': 'sends more calls than a server takes while its disk does not answer',
  'log-copy': 'copies thousands of events from log to log, killed on the way',
  'roles-kill': 'kills five processes of a role each by turns under load, while clients follow the log',
  'schedules-takeover': 'stops the reactor that fires schedules past its lease, and counts every tick',
};

/** `npm run test:matrices`: the same check for each of very many requests, or each operation of a recording. */
export const MATRICES: Apart = {
  access: 'sends each RPC without a token, without the permission, and with it',
  'conformance/hostile': 'sends each RPC, over each transport, a request for everything that can be wrong with it',
  'conformance/openapi-fuzz': 'sends each operation of the API description requests drawn from its schemas',
  'startup-faults': 'starts a process for each of many faults of stores and of Kafka',
  'bad-input-bytes': 'changes the bytes of requests in every way that it knows',
  'eventstore-hostile': 'sends changed messages of every RPC of the EventStoreDB protocol to two servers',
  'eventstore-hostile-connections': 'opens connections by the hundred that say nothing, or nonsense',
  'eventstore-recording':
    'plays 185 recorded operations, most of them against three servers, and waits for what must not come',
};

/** `npm run test:operations`: what operators and people at a terminal do; most files start ten processes or more. */
export const OPERATIONS: Apart = {
  'authorization-server': 'kills servers while people, programs and devices sign in',
  backup: 'makes and restores backups, killed on the way',
  'browser-sessions': 'signs people in at a server and its issuer',
  'command-line': 'starts commands for their help and their refusals',
  'command-line-people': 'starts the commands with which people follow, launch and end executions',
  'command-line-serving': 'starts and stops servers, and runs commands and engines beside them',
  'command-line-sign-in': 'signs in from commands, each of which is a process',
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
  passwords: 'starts the commands that keep users and clients beside a server',
  'path-prefix': 'signs people in behind a proxy that has a path prefix',
  'payloads-gc': 'removes payloads beside a server that writes them',
  reactors: 'kills a server after each step from taking a slot to giving it back',
  readme: 'runs the commands of the README',
  'release-before': 'runs the release before beside this one on one log',
  roles: 'starts a process for each role',
  'roles-parked': 'starts a process for each role on a log with events that they cannot read',
  sandbox: 'starts the sandbox with most of its own flags',
  schedules: 'waits for many ticks of a schedule that fires every second',
  tls: 'starts servers and clients with good, changed and wrong certificates',
};

/** The compiled files of a list. */
export const filesOf = (apart: Apart): readonly string[] =>
  Object.keys(apart).map((name) => `dist/test/e2e/${name}.test.js`);
