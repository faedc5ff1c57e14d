// Reads and writes a log with the newer Node client; prints the outcome of each step as a line of JSON.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';

// The client is installed apart from the project, in the folder that the second argument names.
const { BACKWARDS, jsonEvent, KurrentDBClient, NO_STREAM, START, streamNameFilter, WrongExpectedVersionError } =
  createRequire(join(process.argv[3], 'package.json'))('@kurrent/kurrentdb-client');

const client = KurrentDBClient.connectionString(`kurrentdb://${process.argv[2]}?tls=false`);
const stream = `node-${randomUUID()}`;
const say = (step, what) => process.stdout.write(`${JSON.stringify({ step, ...what })}\n`);
const event = (type) => jsonEvent({ type, data: { from: 'node' }, metadata: { kept: true } });
const gathered = async (read) => {
  const found = [];
  for await (const { event: each } of read) found.push(each);
  return found;
};

const first = event('Begun');
await client.appendToStream(stream, [first, event('Continued')], { streamState: NO_STREAM });
await client.appendToStream(stream, [first], { streamState: NO_STREAM });
const recorded = await gathered(client.readStream(stream));
say('append', { revisions: recorded.map(({ revision }) => Number(revision)) });

const all = await gathered(client.readAll());
say('read', {
  types: recorded.map(({ type }) => type),
  data: JSON.stringify(recorded[0].data),
  metadata: JSON.stringify(recorded[0].metadata),
  backwards: (await gathered(client.readStream(stream, { direction: BACKWARDS, fromRevision: 'end' }))).map(
    ({ type }) => type,
  ),
  all: all.filter(({ streamId }) => streamId === stream).map(({ type }) => type),
});

const late = await client.appendToStream(stream, event('Late'), { streamState: NO_STREAM }).catch((error) => error);
say('conflict', { seen: late instanceof WrongExpectedVersionError });

const tailed = [];
const subscription = client.subscribeToAll({ fromPosition: START, filter: streamNameFilter({ prefixes: ['node-'] }) });
subscription.on('caughtUp', () => client.appendToStream(stream, event('Live'), { streamState: 1n }));
for await (const { event: each } of subscription) {
  if (each?.streamId !== stream) continue;
  tailed.push(each.type);
  if (each.type === 'Live') break;
}
say('tail', { types: tailed });
process.exit(0);
