/** End-to-end tests that run separately from the stories, by file name, with the reason. */
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
  'list-costs': 'lists in a store of many executions, and counts what each page reads',
  'log-copy': 'copies thousands of events from log to log, killed on the way',
  'roles-kill': 'kills five processes of a role each by turns under load, while clients follow the log',
  'schedules-takeover': 'stops the reactor that fires schedules past its lease, and counts every tick',
};

/** `npm run test:matrices`: the same check for each of very many requests, or each operation of a recording. */
export const MATRICES: Apart = {
  'conformance/hostile': 'sends each RPC, over each transport, a request for everything that can be wrong with it',
  'conformance/openapi-fuzz': 'sends each operation of the API description requests drawn from its schemas',
  'startup-faults': 'starts a process for each way in which a store or a setting can be wrong',
  'bad-input-bytes': 'changes the bytes of requests in every way that it knows',
  'eventstore-hostile': 'sends changed messages of every RPC of the EventStoreDB protocol to two servers',
  'eventstore-hostile-connections': 'opens connections by the hundred that say nothing, or nonsense',
  'eventstore-recording': 'plays 185 recorded operations against three servers, and waits for what must not come',
};

/** The compiled files of a list. */
export const filesOf = (apart: Apart): readonly string[] =>
  Object.keys(apart).map((name) => `dist/test/e2e/${name}.test.js`);
