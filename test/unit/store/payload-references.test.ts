import { create, type DescMessage, type Message, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { ContentSchema } from '../../../proto/gen/platformidl/eventlog/content_pb.js';
import { file_platformidl_eventlog_attributes } from '../../../proto/gen/platformidl/eventlog/attributes_pb.js';
import { file_platformidl_eventlog_execution } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { file_platformidl_eventlog_launch_plan } from '../../../proto/gen/platformidl/eventlog/launch_plan_pb.js';
import { file_platformidl_eventlog_schedule } from '../../../proto/gen/platformidl/eventlog/schedule_pb.js';
import { file_platformidl_eventlog_launch_plan_slots } from '../../../proto/gen/platformidl/eventlog/launch_plan_slots_pb.js';
import { file_platformidl_eventlog_named_entity } from '../../../proto/gen/platformidl/eventlog/named_entity_pb.js';
import { file_platformidl_eventlog_project } from '../../../proto/gen/platformidl/eventlog/project_pb.js';
import { file_platformidl_eventlog_task } from '../../../proto/gen/platformidl/eventlog/task_pb.js';
import { file_platformidl_eventlog_workflow } from '../../../proto/gen/platformidl/eventlog/workflow_pb.js';
import { CorruptEvent, UnknownEvent } from '../../../services/kernel/fault.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { codecs } from '../../../services/main/models.js';
import { payloadReferences } from '../../../services/store/payloads/payload-references.js';

const messages = [
  file_platformidl_eventlog_attributes,
  file_platformidl_eventlog_execution,
  file_platformidl_eventlog_launch_plan,
  file_platformidl_eventlog_launch_plan_slots,
  file_platformidl_eventlog_schedule,
  file_platformidl_eventlog_named_entity,
  file_platformidl_eventlog_project,
  file_platformidl_eventlog_task,
  file_platformidl_eventlog_workflow,
].flatMap((file) => file.messages);

/** The messages of events that have contents, which may be stored as payloads, with the names of these fields. */
const withContents = messages.flatMap((schema) => {
  const fields = schema.fields.filter(({ message }) => message?.typeName === ContentSchema.typeName);
  return fields.length > 0 ? [{ schema, fields: fields.map(({ localName }) => localName), name: schema.name }] : [];
});

/** A content that is stored as the payload with this hash. */
const refTo = (sha256: string) => ({
  content: { case: 'ref' as const, value: { scope: 'runs/a', sha256, sizeBytes: 1n, keyId: '' } },
});

/** The category whose events may have this type. */
const categoryWith = (type: string): string =>
  [...codecs].find(([, codec]) => {
    try {
      codec.decode(type, new Uint8Array(), 1);
      return true;
    } catch (error) {
      return !(error instanceof UnknownEvent);
    }
  })?.[0] ?? 'none';

const recorded = (category: string, schema: DescMessage, message: Message): RecordedEvent => ({
  id: new Uint8Array(16),
  type: schema.name,
  data: toBinary(schema, message),
  metadata: JSON.stringify({ schema: 1 }),
  stream: `${category}-a` as RecordedEvent['stream'],
  revision: 0n,
  position: 1n,
});

/** A log with these events, for reading only. */
const logOf = (events: readonly RecordedEvent[]): EventLog =>
  ({
    head: () => Promise.resolve(BigInt(events.length)),
    async *readLog() {
      await Promise.resolve();
      yield { events, position: BigInt(events.length) };
    },
  }) as Partial<EventLog> as EventLog;

/** The references to payloads in a log with these events. */
const read = (events: readonly RecordedEvent[], foreign: readonly string[] = []) =>
  payloadReferences({ log: logOf(events), codecs, foreign: new Set(foreign), onProgress: () => undefined });

describe('the payloads that a log names', () => {
  it('are in more than five types of events', () => {
    expect(withContents.length).toBeGreaterThan(5);
  });

  it.each(withContents)('are found in every field with contents of $name', async ({ schema, fields }) => {
    const shas = fields.map((_, index) => String(index + 1).repeat(64));
    const contents = Object.fromEntries(fields.map((field, index) => [field, refTo(shas[index]!)]));
    const event = recorded(categoryWith(schema.name), schema, create(schema, contents as never));
    const references = await read([event]);
    expect(references.size).toBe(fields.length);
    for (const sha of shas) expect(references.has(`runs/a/${sha.slice(0, 2)}/${sha}`)).toBe(true);
    expect(references.has(`runs/b/11/${'1'.repeat(64)}`)).toBe(false);
  });

  const slots = messages.find(({ name }) => name === 'SlotTaken')!;
  const known = recorded('launchPlanSlots', slots, create(slots));

  it.each([
    ['a category', { ...known, stream: 'later-a' as RecordedEvent['stream'] }],
    ['a type', { ...known, type: 'SlotLent' }],
    ['a schema', { ...known, metadata: JSON.stringify({ schema: 2 }) }],
  ])('cannot be listed when there is %s that this release does not know', async (_, event) => {
    await expect(read([known, event])).rejects.toBeInstanceOf(UnknownEvent);
  });

  it('cannot be listed when an event is damaged', async () => {
    const event = { ...known, data: Uint8Array.of(0xff) };
    await expect(read([event])).rejects.toBeInstanceOf(CorruptEvent);
  });

  it('are not looked for in streams of categories that belong to other writers', async () => {
    const theirs = { ...known, stream: 'theirs-a' as RecordedEvent['stream'], type: 'Anything' };
    expect((await read([theirs], ['theirs'])).size).toBe(0);
  });

  it.each(['$persistentsubscription-$all::billing-checkpoint', 'flightlog-identity'])(
    'are not looked for in %s, which belongs to the store',
    async (stream) => {
      const own = { ...known, stream: stream as RecordedEvent['stream'], type: 'Anything' };
      expect((await read([own])).size).toBe(0);
    },
  );
});
