import type { DescMessage } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import {
  ExecutionSpecSchema,
  ExecutionTerminateRequestSchema,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LabelsSchema } from '../../../proto/gen/platformidl/admin/common_pb.js';
import { PrimitiveSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { TaskTemplateSchema } from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { HistoryEntity, TransitionListRequestSchema } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { TailRequestSchema } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { CreateUploadLocationRequestSchema } from '../../../proto/gen/platformidl/service/dataproxy_pb.js';
import { queryJson } from '../../../services/gateway/rest/parameters.js';

const query = (type: DescMessage, text: string) => queryJson(type, new URLSearchParams(text), []);

describe('a value in a query', () => {
  it.each([
    ['1h30m', '5400.000000000s'],
    ['1.5s', '1.500000000s'],
    ['-1.5h', '-5400.000000000s'],
    ['250ms', '0.250000000s'],
    ['3us2ns', '0.000003002s'],
    ['.5s', '0.500000000s'],
    ['1.s', '1.000000000s'],
    ['0', '0.000000000s'],
  ])('is the duration %s', (text, json) => {
    expect(query(CreateUploadLocationRequestSchema, `expires_in=${text}`)).toEqual({ expires_in: json });
  });

  it.each(['', '5', 'h', '.s', '1h ', '1d', 'P1D'])('is not the duration %j', (text) => {
    expect(() => query(CreateUploadLocationRequestSchema, `expires_in=${encodeURIComponent(text)}`)).toThrow(
      'expires_in',
    );
  });

  it.each([
    ['1', true],
    ['t', true],
    ['TRUE', true],
    ['0', false],
    ['False', false],
  ])('is the boolean %s', (text, json) => {
    expect(query(CreateUploadLocationRequestSchema, `add_content_md5_metadata=${text}`)).toEqual({
      add_content_md5_metadata: json,
    });
  });

  it('is not a boolean with the name of a property of objects', () => {
    expect(() => query(CreateUploadLocationRequestSchema, 'addContentMd5Metadata=constructor')).toThrow(
      '"constructor" is neither true nor false',
    );
  });

  it('is not the boolean yes', () => {
    expect(() => query(CreateUploadLocationRequestSchema, 'addContentMd5Metadata=yes')).toThrow(
      'add_content_md5_metadata',
    );
  });

  it('is a 64-bit number in decimal or hexadecimal', () => {
    expect(query(PrimitiveSchema, 'integer=9223372036854775807')).toEqual({ integer: '9223372036854775807' });
    expect(query(PrimitiveSchema, 'integer=-0x10')).toEqual({ integer: '-16' });
    expect(() => query(PrimitiveSchema, 'integer=1.5')).toThrow('integer');
  });

  it('is a time, a wrapped value, or JSON', () => {
    expect(query(PrimitiveSchema, 'datetime=2024-01-01T00:00:00Z')).toEqual({ datetime: '2024-01-01T00:00:00Z' });
    expect(() => query(PrimitiveSchema, 'datetime=2026-02-30T00:00:00Z')).toThrow('datetime');
    expect(query(ExecutionSpecSchema, 'interruptible=true')).toEqual({ interruptible: true });
    expect(query(TaskTemplateSchema, 'custom={"a":1}')).toEqual({ custom: { a: 1 } });
    expect(() => query(TaskTemplateSchema, 'custom={')).toThrow('custom');
  });

  it.each(['2026-02-30T00:00:00Z', '2026-01-31T24:00:00Z'])(
    'is not the time %s, whose day or hour does not exist',
    (text) => {
      expect(() => query(TransitionListRequestSchema, `recordedFrom=${text}`)).toThrow('recorded_from');
      expect(query(PrimitiveSchema, `stringValue=${text}`)).toEqual({ string_value: text });
    },
  );

  it('is an element of a list, or an entry of a map', () => {
    expect(query(ExecutionSpecSchema, 'tags=a&tags=b')).toEqual({ tags: ['a', 'b'] });
    expect(query(LabelsSchema, 'values[a]=1&values[b.c]=2')).toEqual({ values: { a: '1', 'b.c': '2' } });
    expect(query(ExecutionSpecSchema, 'labels.values[a]=1')).toEqual({ labels: { values: { a: '1' } } });
    expect(() => query(LabelsSchema, 'values=1')).toThrow('values');
    expect(() => query(LabelsSchema, 'values[a]=1&values[a]=2')).toThrow('values');
  });

  it.each(['expires_in=1s&expires_in.seconds=2', 'expires_in.seconds=2&expires_in=1s'])(
    'is refused when it is given as a whole and in parts: %s',
    (text) => {
      expect(() => query(CreateUploadLocationRequestSchema, text)).toThrow(
        /^invalid value for expires_in.*: given more than once$/,
      );
    },
  );

  it('changes nothing but the request, whatever a map key is called', () => {
    const json = query(LabelsSchema, 'values[__proto__]=1');
    expect(Object.keys(json['values'] as object)).toEqual(['__proto__']);
    expect({}).not.toHaveProperty('1');
  });

  it('is ignored under a name that the request does not have', () => {
    expect(query(ExecutionTerminateRequestSchema, 'nonsense=1&id.nonsense=2&cause.of=3&id.project=p')).toEqual({
      id: { project: 'p' },
    });
  });

  it.each([
    ['phases=', TailRequestSchema, {}],
    ['phases=&phases=FAILED&types=', TailRequestSchema, { phases: ['FAILED'] }],
    ['entities=', TransitionListRequestSchema, {}],
    ['entities=&entities=NODE', TransitionListRequestSchema, { entities: [HistoryEntity.NODE] }],
  ])('is no entry of a list where it is empty: %s', (text, type: DescMessage, json) => {
    expect(query(type, text)).toEqual(json);
  });
});
