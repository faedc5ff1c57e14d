import { describe, expect, it } from 'vitest';

import { ExportRefused } from '../../../services/reactors/export-to-kafka/failure.js';
import { positionIn, positionRecord, publishedUpTo } from '../../../services/reactors/export-to-kafka/positions.js';

const TOPIC = 'flightlog.export.positions.v1';
const found = { logId: '4840a941', position: 9_007_199_254_740_993n, partitions: 4, worker: 'one' };

const read = (text: string) => positionIn(Buffer.from(text), TOPIC);

describe('a record of the topic of positions', () => {
  it('is read as it was written', () => {
    expect(read(String(positionRecord(3, found).value))).toEqual(found);
  });

  it.each([
    'events',
    'null',
    '7',
    '[]',
    '{}',
    '{"logId":"4840a941","position":"-1","parts":1,"worker":"one"}',
    '{"logId":"4840a941","position":7,"parts":1,"worker":"one"}',
    '{"logId":"4840a941","position":"7","worker":"one"}',
  ])('is refused when it is %s', (text) => {
    expect(() => read(text)).toThrow(ExportRefused);
    expect(() => read(text)).toThrow(`topic ${TOPIC} has something else than positions of an export`);
  });

  it('is refused with the format when a newer release has written it', () => {
    expect(() => read('{"format":2}')).toThrow(`a newer release has written topic ${TOPIC} (format 2`);
  });
});

describe('the position up to which all events must be published', () => {
  const own = { logId: found.logId, prefix: 'flightlog' };
  const upTo = (...positions: readonly bigint[]): bigint =>
    publishedUpTo(new Map(positions.map((position, partition) => [partition, { ...found, position }])), own);

  it('is the lowest of all partitions', () => {
    expect(upTo(7n, 5n, 9n, 6n)).toBe(5n);
  });

  it('is refused when a partition has none, because its events may not be published', () => {
    expect(() => upTo(7n, 5n, 9n)).toThrow(ExportRefused);
    expect(() => upTo(7n, 5n, 9n)).toThrow(`${TOPIC} has the positions of 3 of 4 partitions: the export has not begun`);
  });

  it('is refused when none is recorded, because nothing would be compared', () => {
    expect(() => upTo()).toThrow(ExportRefused);
    expect(() => upTo()).toThrow(`${TOPIC} has no position: the export has published nothing, or its positions`);
  });

  it('is refused when it is that of another log', () => {
    expect(() => publishedUpTo(new Map([[0, found]]), { ...own, logId: '1' })).toThrow(
      'have the events of another log',
    );
  });
});
