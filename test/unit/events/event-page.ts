import { format } from 'oxfmt';
import { attributesStream } from '../../../services/attributes/events.js';
import { deadLetterStream } from '../../../services/dead-letter/events.js';
import { engineSessionStream } from '../../../services/engine-session/events.js';
import { categoryOf, type StreamName, streamName } from '../../../services/kernel/stream.js';
import { slotsStream } from '../../../services/launch-plan-slots/events.js';
import { launchPlanStream } from '../../../services/launch-plan/events.js';
import { LOG_FORMAT_STREAM } from '../../../services/log-format/events.js';
import { namedEntityStream } from '../../../services/named-entity/events.js';
import { notificationStream } from '../../../services/notification/events.js';
import { RETRIES_STREAM } from '../../../services/parked-stream/events.js';
import { projectStream } from '../../../services/project/events.js';
import type { ContextAttributes } from '../../../services/reactors/export-to-kafka/cloud-events/cloud-event.js';
import { entityText } from '../../../services/reactors/export-to-kafka/cloud-events/stream-attributes.js';
import { topicName } from '../../../services/reactors/export-to-kafka/topics.js';
import { roleBindingStream } from '../../../services/role-binding/events.js';
import { scheduleStream } from '../../../services/schedule/events.js';
import { taskStream } from '../../../services/task/events.js';
import { workflowStream } from '../../../services/workflow/events.js';
import type { ProtoComments } from '../../support/documents/proto-comments.js';
import type { SampledType } from './samples/sampled-types.js';
import { EXECUTION_CATEGORY } from '../../../services/kernel/execution-id.js';

const NAME = { project: 'PROJECT', domain: 'DOMAIN', name: 'NAME' } as const;
const VERSION = { ...NAME, version: 'VERSION' } as const;

/** Each category: an example of the name of its streams, and what the page says that they are about. */
const STREAMS: readonly { readonly stream: StreamName; readonly about: string }[] = [
  {
    stream: streamName(EXECUTION_CATEGORY, Object.values(NAME)),
    about:
      'One execution with its nodes, tasks and signals. An engine is a program that runs executions and reports on them.',
  },
  { stream: taskStream(VERSION), about: 'One version of a task.' },
  { stream: workflowStream(VERSION), about: 'One version of a workflow.' },
  { stream: launchPlanStream(NAME), about: 'All versions of one launch plan, and which of them is active.' },
  {
    stream: slotsStream(NAME),
    about:
      'The slots of a launch plan that limits how many of its executions run at once. An execution has a slot from before its creation until its end.',
  },
  {
    stream: notificationStream(NAME),
    about: 'The messages about one execution, by mail, Slack, PagerDuty or a webhook, with each attempt to send them.',
  },
  {
    stream: deadLetterStream('REACTOR'),
    about:
      'The dead letters of one reactor: work that it has given up and that an operator can have tried again. A reactor is a component that follows the log and acts on its events.',
  },
  {
    stream: RETRIES_STREAM,
    about:
      'The requests of operators to read parked streams again. A stream is parked while one of its events cannot be read.',
  },
  {
    stream: scheduleStream(NAME),
    about:
      'The ticks of one launch plan, with the outcome of each. A tick is a time at which the schedule launches an execution.',
  },
  {
    stream: roleBindingStream('PRINCIPAL'),
    about: 'The roles that administrators have granted to one principal, a person or a program.',
  },
  {
    stream: engineSessionStream({ group: 'GROUP', engine: 'ENGINE', session: 'SESSION' }),
    about: 'One session of an engine: the time in which it is connected, gets executions and has leases on them.',
  },
  { stream: projectStream('PROJECT'), about: 'One project.' },
  {
    stream: attributesStream('PROJECT'),
    about:
      'The matchable attributes of one project, its domains and its workflows: settings that apply to their executions.',
  },
  {
    stream: namedEntityStream({ kind: 'TYPE' as never, ...NAME }),
    about:
      'The name of a task, workflow or launch plan, with the description and the state that all its versions share.',
  },
  { stream: LOG_FORMAT_STREAM, about: 'The format of the log, which says what types of events may be written to it.' },
];

/** An explanation of each member of a CloudEvent; the type makes the compiler report a missing one. */
const MEMBERS: Readonly<
  Record<keyof ContextAttributes | 'specversion' | 'datacontenttype' | 'dataschema' | 'data' | 'dataref', string>
> = {
  specversion: '`1.0`',
  id: 'the id of the event; it never changes',
  source: 'the log, by its id',
  type: 'the type of the event, with its package',
  subject: 'the entity that the stream is about, such as an execution; also the key of the message',
  time: 'when the event was recorded, in UTC',
  sequence: 'the revision in the stream, from 0, in 20 digits',
  stream: 'the name of the stream',
  position: 'the position in the log; later events have larger ones; there may be gaps',
  partitionkey: 'the same as `subject`',
  commandid: 'the command that recorded it; absent when there is none',
  actor:
    'the authenticated caller, the reactor that sent the command, or the engine that gets a lease; absent without any',
  correlationid: 'the request that it came with; absent when there is none',
  causationid: 'the event that caused it; absent when there is none',
  traceparent: 'the trace context (W3C) of the request; absent where it had none',
  project: 'of an event of an execution',
  domain: 'of an event of an execution',
  execution: 'of an event of an execution: its name',
  node: 'of an event about a node or a task: the id of the node',
  attempt: 'of an event about a task: the attempt, from 0',
  phase: 'of an event that brings an execution, a node or a task to a phase: its name',
  datacontenttype: '`application/json`; in the format `protobuf`, `application/protobuf`',
  dataschema:
    'names the JSON schema of `data`; its last part is the version of the shape. In the format `protobuf` it names the type of the message',
  data: 'the event, in the JSON of the samples; in the format `protobuf`, as `google.protobuf.Any`',
  dataref:
    'in place of `data` where the event is too large for its topic or cannot be read: names it by log, stream and revision',
};

/** The members that the page explains. */
export const explainedMembers: readonly string[] = Object.keys(MEMBERS);

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');

const jsonBlock = async (value: unknown): Promise<string> =>
  `\`\`\`json\n${(await format('example.json', JSON.stringify(value), { printWidth: 110 })).code}\`\`\``;

const anchorOf = (name: string): string => `[${name}](#${name.toLowerCase()})`;

const section = async ({ message, cloudEvent }: SampledType, comments: ProtoComments): Promise<string> => {
  const comment = comments.get(message.typeName);
  return [
    `### ${message.name}`,
    ...(comment === undefined ? [] : [comment]),
    `JSON schema of \`data\`: [${message.name}.v1.json](${message.name}.v1.json).`,
    await jsonBlock(cloudEvent),
  ].join('\n\n');
};

const categorySection = async (
  { stream, about }: (typeof STREAMS)[number],
  types: readonly SampledType[],
  comments: ProtoComments,
): Promise<string> => {
  const category = categoryOf(stream);
  const own = types.filter((each) => each.category === category);
  return [
    `## \`${category}\``,
    about,
    `Streams \`${stream}\`, topic \`${topicName('flightlog', category)}\`, key \`${entityText(stream)}\`.`,
    ...(await Promise.all(own.map((each) => section(each, comments)))),
  ].join('\n\n');
};

const INTRODUCTION = `# Events

Every type of event that the control plane records, with one sample. The log may also have events of other programs and of [consumer groups](../consumers.md#consumer-groups-persistent-subscriptions). This page is generated from the code: \`npm run event-schemas\`.

The JSON of an event is the same for every consumer. It is the stored message in the JSON mapping of protobuf, with the messages in its \`bytes\` fields decoded, also those that are too large for the log and are stored beside it (payloads). Enums are names, and numbers of 64 bits are texts. Numbers, booleans and enums are present also where they are zero; texts and lists are absent where they are empty. Messages, members of a \`oneof\` and \`optional\` fields are present where they are set. Each event of an execution begins with \`project\`, \`domain\` and \`execution\`, and where they apply \`node\`, \`attempt\` and \`phase\`. A consumer should ignore fields, enum names and types that it does not know: a later release may add some.

## Where consumers find each part of an event`;

const CONSUMERS = table(
  ['what', '`flightlog log cat`', 'port 2113', 'Kafka'],
  [
    ['data', '`data`', 'the data of the event', '`data`'],
    [
      'type',
      '`type`',
      'the type of the event',
      '`type` and header `ce_type`, each with `platformidl.eventlog.` before it',
    ],
    ['id', '`id`', 'the id of the event', '`id` and header `ce_id`'],
    [
      'stream',
      '`stream`',
      'the stream',
      '`stream`; the category is in the name of the topic, and the rest, with `/` for `:`, is the key',
    ],
    ['revision', '`revision`', 'the revision', '`sequence`'],
    ['position', '`position`', 'the commit position', '`position`'],
    ['when it was recorded', '`recordedAt`', 'created', '`time`'],
    [
      'the actor and the request',
      '`actor`, `commandId`, `correlationId`, `causationId`, `traceparent`',
      'the metadata of the event: `actor`, `commandId`, `$correlationId`, `$causationId`, `traceparent`',
      '`actor`, `commandid`, `correlationid`, `causationid`, `traceparent`',
    ],
    ['version of the shape of the data', '`schema`', '`schema` in the metadata', 'the last part of `dataschema`'],
  ],
);

const catSample = async (types: readonly SampledType[]): Promise<string> => {
  const shown = types.find(({ message }) => message.name === 'ExecutionTagged');
  return `A line of \`log cat\`, here over several:\n\n${await jsonBlock(shown?.catLine)}`;
};

const MEMBER_TABLE = `In Kafka each message is a CloudEvent 1.0 in structured mode; the samples below are messages in the format \`json\` (\`kafka.format\`). Its members:

${table(
  ['member', 'what it is'],
  Object.entries(MEMBERS).map(([name, what]) => [`\`${name}\``, what]),
)}`;

const typeTable = (types: readonly SampledType[]): string =>
  table(
    ['type', 'category', 'topic'],
    types.map(({ category, message }) => [
      anchorOf(message.name),
      `\`${category}\``,
      `\`${topicName('flightlog', category)}\``,
    ]),
  );

/** The page that lists every type of event, in Markdown. */
export const eventPage = async (types: readonly SampledType[], comments: ProtoComments): Promise<string> =>
  [
    INTRODUCTION,
    CONSUMERS,
    await catSample(types),
    MEMBER_TABLE,
    '## All types',
    '`flightlog` in the name of a topic is `kafka.topic_prefix`. The samples are independent of each other: together they are not the history of one execution.',
    typeTable(types),
    ...(await Promise.all(STREAMS.map((each) => categorySection(each, types, comments)))),
    '',
  ].join('\n\n');
