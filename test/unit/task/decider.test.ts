import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { TaskRegisteredSchema } from '../../../proto/gen/platformidl/eventlog/task_pb.js';
import { CorruptEvent, UnknownEvent } from '../../../services/kernel/fault.js';
import { taskAggregate, taskDecider } from '../../../services/task/decider.js';
import { taskCodec, type TaskEvent } from '../../../services/task/events.js';
import { given } from '../../support/streams/given.js';

const id = { resourceType: ResourceType.TASK, project: 'p', domain: 'd', name: 'n', version: 'v' } as const;
const compiled = new Uint8Array([1, 2, 3]);
const digest = new Uint8Array([4, 5]);
const register = { id, compiled, digest, taskType: 'python-task', description: undefined };

const registered = (): TaskEvent => ({
  type: 'TaskRegistered',
  data: create(TaskRegisteredSchema, {
    id,
    compiled: { content: { case: 'inline', value: compiled } },
    digest,
    taskType: 'python-task',
  }),
});

describe('a version of a task', () => {
  it('is registered', () => given(taskDecider).when(register).then(registered()));

  it('is not registered again with the same content', () =>
    given(taskDecider, registered()).when(register).thenRefused({ kind: 'exists-identical' }));

  it('is not registered again with other content', () =>
    given(taskDecider, registered())
      .when({ ...register, digest: new Uint8Array([4, 6]) })
      .thenRefused({ kind: 'exists-different' }));
});

describe('the stream of a version of a task', () => {
  it('keeps large contents in the payload scope of its project', () =>
    expect(taskAggregate.payloadScope(register)).toBe('definitions/p'));

  it('refuses permanently', () => {
    expect(taskAggregate.isPermanentRefusal({ kind: 'exists-identical' })).toBe(true);
    expect(taskAggregate.isPermanentRefusal({ kind: 'exists-different' })).toBe(true);
  });

  it('is over, so that no further use of it is expected, once the version is registered', () => {
    expect(taskAggregate.isOver?.(taskDecider.initial())).toBe(false);
    expect(taskAggregate.isOver?.(taskDecider.evolve(taskDecider.initial(), registered()))).toBe(true);
  });
});

describe('the events of a task', () => {
  it('are read as they were written', () => {
    const { type, data } = taskCodec.encode(registered());
    expect(taskCodec.decode(type, data, 1)).toEqual(registered());
  });

  it('can be written when their content has moved to the payload store', () => {
    const event = registered();
    const [content] = taskCodec.contents(event);
    const ref = { scope: 'definitions/p', sha256: 'ab', sizeBytes: 70_000n, keyId: '' };
    content!.content = { case: 'ref', value: ref };
    const { type, data } = taskCodec.encode(event);
    expect(taskCodec.decode(type, data, 1).data.compiled?.content).toMatchObject({ case: 'ref', value: ref });
  });

  it('are not read when their type or schema is unknown, or when they are cut off', () => {
    const { type, data } = taskCodec.encode(registered());
    expect(() => taskCodec.decode('TaskForgotten', data, 1)).toThrow(UnknownEvent);
    expect(() => taskCodec.decode('toString', data, 1)).toThrow(UnknownEvent);
    expect(() => taskCodec.decode(type, data, 2)).toThrow(UnknownEvent);
    expect(() => taskCodec.decode(type, data.subarray(0, data.length - 1), 1)).toThrow(CorruptEvent);
  });
});
