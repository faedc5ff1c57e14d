import type { RecordedEvent } from '../../../../services/kernel/event.js';
import { NEWEST_FORMAT } from '../../../../services/kernel/log-format.js';
import { ENGINE_REPORTED } from '../../../../services/execution/events.js';
import { type EventType, eventTypes } from '../../../../services/event-json/event-types.js';
import { codecs } from '../../../../services/main/models.js';
import { eventLine } from '../../../../services/event-json/event-line.js';
import { wholeEventEncoder, readable } from '../../../../services/event-json/readable.js';
import { messageMaker } from '../../../../services/reactors/export-to-kafka/message.js';
import { definitionSamples } from './definitions.js';
import { executionSamples } from './executions.js';
import { recordedIn, type Sample } from './sample.js';

type Json = Readonly<Record<string, unknown>>;

/** A type of event with a sample, as consumers see it. */
export type SampledType = EventType & {
  /** The sample as it is recorded. */
  readonly event: RecordedEvent;
  /** The line that `log cat` prints. */
  readonly catLine: Json & { readonly data: Json };
  /** The message in Kafka. */
  readonly cloudEvent: Json & { readonly data: Json };
};

/** The samples have no payloads beside the log. */
const payloads = {
  put: () => Promise.reject(new Error('nothing is stored')),
  get: () => Promise.reject(new Error('nothing is stored')),
  close: () => Promise.resolve(),
};

const catLineOf = async (event: RecordedEvent): Promise<SampledType['catLine']> =>
  JSON.parse(await eventLine(event, readable(payloads))) as SampledType['catLine'];

const toMessage = messageMaker({
  logId: '4840a941-dec6-4d4b-b036-6929f53bff43',
  format: 'json',
  dataEncoder: wholeEventEncoder(payloads),
  maxBytes: () => 1_000_000,
});

const cloudEventOf = async (event: RecordedEvent): Promise<SampledType['cloudEvent']> =>
  JSON.parse((await toMessage(event)).value.toString()) as SampledType['cloudEvent'];

const samples = new Map([...executionSamples, ...definitionSamples].map((each) => [each.type, each]));

/** In a log of format 1, reports of nodes are of the older type. */
const sampleOf = ({ message }: EventType): readonly [sample: Sample, format: number] => {
  const isOlder = message.name === ENGINE_REPORTED;
  const sample = samples.get(isOlder ? 'NodePhaseReported' : message.name);
  if (!sample) throw new Error(`there is no sample of ${message.name}: add one to test/unit/events/samples`);
  return [sample, isOlder ? 1 : NEWEST_FORMAT];
};

const sampled = async (type: EventType, at: number, all: readonly EventType[]): Promise<SampledType> => {
  const revision = all.slice(0, at).filter(({ category }) => category === type.category).length;
  const event = recordedIn(...sampleOf(type), { at, revision });
  return { ...type, event, catLine: await catLineOf(event), cloudEvent: await cloudEventOf(event) };
};

/** Every type of event with its sample; fails for one that has none. */
export const sampledTypes = (): Promise<readonly SampledType[]> => Promise.all(eventTypes(codecs).map(sampled));
