import { fromBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ReadRespSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { StreamName } from '../../../services/kernel/stream.js';
import { metadataFor, propertiesOf } from '../../../services/streams/eventstore/event-metadata.js';
import { eventAnswer } from '../../../services/streams/eventstore/read/event-answer.js';
import { storedForm } from '../../../services/streams/eventstore/recorded.js';

/** Numbers of ms outside of the years 1970 to 9999; the first one is no finite double. */
const NO_TIMES = ['1e400', '1e300', '999999999999999', '-1'];

/** The last millisecond of the year 9999. */
const LAST_OF_9999 = '253402300799999';

/** An event with this metadata. */
const eventWith = (metadata: string): RecordedEvent => ({
  ...{ stream: 'counted-1' as StreamName, revision: 0n, position: 1n, type: 'Counted', metadata },
  ...{ id: new Uint8Array(16), data: new Uint8Array() },
});

/** The time at which an answer says that the event was created, in units of 100 ns since 1970. */
const createdOf = async (metadata: string): Promise<string | undefined> => {
  const { content } = fromBinary(ReadRespSchema, await eventAnswer(eventWith(metadata), 'string', storedForm));
  return content.case === 'event' ? content.value.event?.metadata['created'] : undefined;
};

describe('the time of an event on port 2113', () => {
  it.each(NO_TIMES)('is 1970 where the metadata of another writer has the number %s', async (number) => {
    expect(await createdOf(`{"recordedAtMs":${number}}`)).toBe('0');
  });

  it('may be at the end of the year 9999', async () => {
    expect(await createdOf(`{"recordedAtMs":${LAST_OF_9999}}`)).toBe(`${LAST_OF_9999}0000`);
  });

  it.each(NO_TIMES)('is that of the append where the metadata of a client has the number %s', (number) => {
    const custom = Buffer.from(`{"recordedAtMs":${number}}`);
    const properties = { custom, isJson: false, recordedAtMs: 7 };
    expect(propertiesOf({ metadata: metadataFor(properties) })).toEqual(properties);
  });
});

describe('metadata of a client that looks like that of a control plane', () => {
  it.each(['\uFEFF{"recordedAtMs":7}', '{"recordedAtMs":7,"$isJson":true}'])('is given back as it came: %s', (text) => {
    const properties = { custom: Buffer.from(text), isJson: false, recordedAtMs: 7 };
    expect(propertiesOf({ metadata: metadataFor(properties) })).toEqual(properties);
  });
});
