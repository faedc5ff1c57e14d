import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ExecutionExpiredSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { flatFields } from '../../../services/execution/wire/flat-fields.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { creation, id, node, openStream, stream, task, termination, workflow } from './reports.js';

const PLACE = { project: id.project, domain: id.domain, execution: id.name };
const NOTHING = new Uint8Array();

describe('the flat fields of an event of an execution', () => {
  it('say which execution, node and attempt it is about, and the phase after it', () => {
    const { recorded } = openStream(
      ...[creation, workflow('RUNNING'), node('QUEUED', { node: 'n7' })],
      ...[task('RUNNING', { node: 'n7', attempt: 2 }), termination],
    );
    expect(recorded.map(flatFields)).toEqual([
      { ...PLACE, phase: 'QUEUED' },
      { ...PLACE, phase: 'RUNNING' },
      { ...PLACE, node: 'n7', phase: 'QUEUED' },
      { ...PLACE, node: 'n7', attempt: 2, phase: 'RUNNING' },
      { ...PLACE, phase: 'ABORTING' },
    ]);
  });

  it('have the phase of an execution that has expired', () => {
    const data = toBinary(
      ExecutionExpiredSchema,
      create(ExecutionExpiredSchema, { phase: WorkflowExecution_Phase.TIMED_OUT }),
    );
    expect(flatFields({ stream, type: 'ExecutionExpired', data })).toEqual({ ...PLACE, phase: 'TIMED_OUT' });
  });

  it('are those of its stream alone when the event says no more or cannot be read', () => {
    expect(flatFields({ stream, type: 'ExecutionTagged', data: NOTHING })).toEqual(PLACE);
    const broken = Uint8Array.from([0x0a, 0x7f]); // a field that announces 127 bytes and has none
    for (const type of ['NodePhaseReported', 'ExecutionExpired'])
      expect(flatFields({ stream, type, data: broken })).toEqual(PLACE);
  });

  it('lack the parts that the name of the stream has only as a hash', () => {
    const long = 'x'.repeat(600); // longer than the name of a stream may be
    const of = (...parts: readonly string[]) =>
      flatFields({ stream: streamName('execution', parts), type: 'ExecutionTagged', data: NOTHING });
    expect(of('p', 'd', long)).toEqual({ project: 'p', domain: 'd' });
    expect(of(long, 'd', 'x')).toEqual({});
    expect(Object.keys(of(long, 'd', 'x'))).toEqual([]);
    expect(Object.keys(of('p', 'd', long))).toEqual(['project', 'domain']);
  });

  it('are those of the event alone when another program has named the stream', () => {
    const data = new Uint8Array();
    expect(flatFields({ stream: 'execution-50%' as StreamName, type: 'ExecutionCreated', data })).toEqual({
      phase: 'QUEUED',
    });
  });

  it('are none of other streams', () => {
    const other: StreamName = streamName('task', [id.project, id.domain, id.name]);
    expect(flatFields({ stream: other, type: 'ExecutionCreated', data: NOTHING })).toEqual({});
  });

  it('are right for more streams than are cached', () => {
    const fieldsOf = (name: number) =>
      flatFields({ stream: streamName('execution', ['p', 'd', `e${name}`]), type: 'ExecutionTagged', data: NOTHING });
    for (let name = 0; name < 5_000 /* 4,096 are cached */; name += 1)
      expect(fieldsOf(name)).toEqual({ project: 'p', domain: 'd', execution: `e${name}` });
    expect(fieldsOf(0)).toEqual({ project: 'p', domain: 'd', execution: 'e0' });
  });
});
