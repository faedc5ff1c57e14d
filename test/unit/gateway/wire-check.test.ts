import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ExecutionCreateRequestSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { TaskExecutionEventRequestSchema } from '../../../proto/gen/platformidl/admin/event_pb.js';
import { wireFault } from '../../../services/gateway/wire/check.js';

const event = create(TaskExecutionEventRequestSchema, {
  requestId: 'r',
  event: {
    taskId: { name: 'größe', version: 'v' },
    logs: [{ uri: 'u', ttl: { seconds: 5n } }, { name: 'n' }],
    occurredAt: { seconds: -1n, nanos: 5 },
    outputResult: {
      case: 'outputData',
      value: {
        literals: {
          x: {
            value: {
              case: 'scalar',
              value: { value: { case: 'primitive', value: { value: { case: 'floatValue', value: 1.5 } } } },
            },
          },
        },
      },
    },
    customInfo: { a: [1, 'two', { three: null }] },
    phaseVersion: 300,
  },
});
const bytes = toBinary(TaskExecutionEventRequestSchema, event);

/** True from the beginning of the year 1 to the end of the year 9999. */
const isTime = ({ seconds, nanos }: Timestamp): boolean =>
  nanos >= 0 && nanos < 1e9 && seconds >= -62_135_596_800n && seconds < 253_402_300_800n;

const decodes = (changed: Uint8Array): boolean => {
  try {
    fromBinary(TaskExecutionEventRequestSchema, changed);
    return true;
  } catch {
    return false;
  }
};

describe('the check of bytes on the wire', () => {
  it('finds no fault in well-formed messages', () => {
    expect(wireFault(TaskExecutionEventRequestSchema, bytes)).toBeUndefined();
    expect(wireFault(ExecutionCreateRequestSchema, new Uint8Array())).toBeUndefined();
  });

  it('finds a fault where a decoder fails, and nowhere else, wherever the message is cut', () => {
    for (let end = 0; end < bytes.length; end++) {
      const cut = bytes.subarray(0, end);
      expect(wireFault(TaskExecutionEventRequestSchema, cut) === undefined, String(end)).toBe(decodes(cut));
    }
  });

  it('lets nothing pass that a decoder refuses, whatever bytes are changed', () => {
    const change = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255));
    let passed = 0;
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const changed = Uint8Array.from(bytes);
        for (const [at, value] of changes) changed[at] = value;
        if (wireFault(TaskExecutionEventRequestSchema, changed) !== undefined) return;
        passed += 1;
        expect(decodes(changed)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(passed).toBeGreaterThan(100);
  });

  it('lets nothing pass that a decoder refuses, of any bytes at all', () => {
    let passed = 0;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (any) => {
        if (wireFault(TaskExecutionEventRequestSchema, any) !== undefined) return;
        passed += 1;
        expect(decodes(any)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(passed).toBeGreaterThan(20);
  });

  it('names the field by its path of messages', () => {
    const broken = Buffer.from(bytes);
    broken[broken.indexOf(Buffer.from('größe')) + 2] = 0xff;
    expect(wireFault(TaskExecutionEventRequestSchema, broken)).toMatch(/^event\.task_id\.name is not valid UTF-8/);
  });

  const reported = (reportedAt: object, logs: readonly object[] = []) =>
    wireFault(
      TaskExecutionEventRequestSchema,
      toBinary(
        TaskExecutionEventRequestSchema,
        create(TaskExecutionEventRequestSchema, { event: { reportedAt, logs: [...logs] } }),
      ),
    );

  it('names the field of a time or duration that is out of range, unless it is in a literal', () => {
    const outOfRange = /^event\.reported_at is out of range/;
    for (const time of [{ seconds: 253_402_300_800n }, { seconds: -62_135_596_801n }, { nanos: -1 }, { nanos: 1e9 }])
      expect(reported(time)).toMatch(outOfRange);
    expect(reported({}, [{}, { ttl: { seconds: 1n, nanos: -1 } }])).toMatch(/^event\.logs\.ttl is out of range/);
    expect(reported({}, [{ ttl: { seconds: -1n, nanos: -1 } }])).toBeUndefined();
    const datetime = { case: 'datetime', value: { nanos: -1 } } as const;
    const literal = { case: 'scalar', value: { value: { case: 'primitive', value: { value: datetime } } } } as const;
    const inputs = { literals: { x: { value: literal } } };
    const request = create(ExecutionCreateRequestSchema, { inputs });
    expect(wireFault(ExecutionCreateRequestSchema, toBinary(ExecutionCreateRequestSchema, request))).toBeUndefined();
  });

  it('accepts every time from the year 1 to 9999, and no other', () => {
    const edges = fc.constantFrom(-62_135_596_801n, -62_135_596_800n, -1n, 0n, 253_402_300_799n, 253_402_300_800n);
    const time = fc.record({
      seconds: fc.oneof(edges, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
      nanos: fc.oneof(fc.constantFrom(-1, 0, 999_999_999, 1_000_000_000), fc.integer()),
    });
    fc.assert(
      fc.property(time, fc.boolean(), (each, hasUnknown) => {
        const message = create(TimestampSchema, each);
        if (hasUnknown) message.$unknown = [{ no: 9, wireType: WireType.Varint, data: Uint8Array.of(1) }];
        expect(reported(message) === undefined).toBe(isTime(message));
      }),
      { numRuns: 2_000 },
    );
  });
});
