/** End-to-end tests, by file name, with the reason why a run of them would show nothing new. */
type SkippedTests = Readonly<Record<string, string>>;

/** Tests that use neither the read store nor the log that FLIGHTLOG_TEST_READ_STORE and FLIGHTLOG_TEST_LOG name. */
const OWN_STORES: SkippedTests = {
  'command-line': 'starts commands that end before they open a store, or find theirs in a data directory',
  'command-line-serving': 'is about what commands do with a data directory that has everything in it',
  'eventstore-hostile-connections': 'starts a log server alone, which has no views',
  'list-costs': 'counts what pages cost on SQLite; an integration test counts the same on MongoDB',
  readme: 'runs the commands of README.md unchanged',
  'roles-kill': 'has tests of its own on each read store, with Kafka too',
  sandbox: 'starts the sandbox, whose stores are in its data directory',
};

/** Tests that choose their processes and their log themselves; `npm run test:mongodb` runs them as they are. */
const OWN_PROCESSES: SkippedTests = {
  'eventstore-cluster': 'starts processes of each role on a cluster of its own',
  'eventstore-faults': 'puts a control plane on a log server that it stops',
  'eventstore-stalls': 'puts two control planes on a log server behind a proxy',
  health: 'starts a log server and a process of each role',
  'kill-two-processes': 'kills one of two control planes on a log server',
  'load-balancer': 'starts a log server and the processes that calls are balanced over',
  roles: 'starts a log server and one or two processes of each role',
  'roles-parked': 'starts a log server and a process of each role',
  'two-processes': 'starts two control planes on a log server',
};

/**
 * The end-to-end tests that `npm run test:mongodb` and `npm run test:roles` leave out: only those that do exactly the
 * same there as elsewhere. `npm run test:all` runs all of them.
 */
export const skippedTests = ({ FLIGHTLOG_TEST_READ_STORE, FLIGHTLOG_TEST_ROLES }: NodeJS.ProcessEnv): SkippedTests => ({
  ...(FLIGHTLOG_TEST_READ_STORE === 'mongodb' && OWN_STORES),
  ...(FLIGHTLOG_TEST_ROLES === 'apart' && OWN_PROCESSES),
});
