import { create, equals } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { TaskTemplateSchema } from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { TaskExecutionEventSchema } from '../../../proto/gen/platformidl/event/event_pb.js';
import { writeJson } from '../../../services/gateway/rest/json.js';

/** Seconds, beyond the range of times and durations. */
const FAR = 10n ** 15n;

describe('a message that JSON has no form for', () => {
  it('is shown with its times and durations at the limits of their ranges', () => {
    const event = create(TaskExecutionEventSchema, {
      occurredAt: { seconds: FAR, nanos: -1 },
      logs: [{ ttl: { seconds: -FAR, nanos: 5 } }],
      reasons: [{ occurredAt: { seconds: -FAR } }],
    });
    expect(JSON.parse(writeJson(TaskExecutionEventSchema, event, 'name'))).toMatchObject({
      occurred_at: '9999-12-31T23:59:59Z',
      logs: [{ ttl: '-315576000000s' }],
      reasons: [{ occurred_at: '0001-01-01T00:00:00Z' }],
    });
  });

  it('is shown with NaN and infinite numbers as text', () => {
    const template = create(TaskTemplateSchema, {
      custom: { rate: NaN, deep: { list: [1, Infinity, { low: -Infinity }] } },
    });
    expect(JSON.parse(writeJson(TaskTemplateSchema, template, 'jsonName'))).toMatchObject({
      custom: { rate: 'NaN', deep: { list: [1, 'Infinity', { low: '-Infinity' }] } },
    });
  });

  it('is not changed itself when it is written as JSON', () => {
    const template = create(TaskTemplateSchema, { metadata: { timeout: { seconds: FAR } } });
    writeJson(TaskTemplateSchema, template, 'jsonName');
    expect(
      equals(TaskTemplateSchema, template, create(TaskTemplateSchema, { metadata: { timeout: { seconds: FAR } } })),
    ).toBe(true);
  });
});
