import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { DescMethod } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ExecutionCountService } from '../../../proto/gen/platformidl/eventlog/execution_count_service_pb.js';
import { HistoryService } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { EventLogService } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { ExecutionWatchService } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { IdentityService } from '../../../proto/gen/platformidl/service/identity_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { SignalService } from '../../../proto/gen/platformidl/service/signal_pb.js';
import { truncateText, rpcFailureOf, faultFailures, statuses } from '../../../services/gateway/status.js';
import {
  CorruptEvent,
  OutcomeUnknown,
  RevisionConflict,
  StoreUnavailable,
  StreamParked,
} from '../../../services/kernel/fault.js';
import { invalid } from '../../../services/kernel/rpc.js';

const ROOT = join(import.meta.dirname, '../../../..');
const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');

/** The cells of the table under a heading, by row, without the head of the table. */
const rows = (heading: string): string[][] => {
  const section = page.split(/^## /m).find((text) => text.startsWith(heading)) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(2).map((line) =>
    line
      .slice(2, -2)
      .split(' | ')
      .map((cell) => cell.trim()),
  );
};

/** Each `slice refusal` that a decider can give, read from the types of refusals. */
const refusals = (): string[] =>
  readdirSync(join(ROOT, 'services')).flatMap((slice) =>
    ['decider.ts', 'refusals.ts']
      .map((file) => join(ROOT, 'services', slice, file))
      .filter((path) => existsSync(path))
      .flatMap((path) => readFileSync(path, 'utf8').match(/^export type \w+Refusal =[^]*?;$/gm) ?? [])
      .flatMap((type) => [...type.matchAll(/'([a-z]+(?:-[a-z]+)*)'/g)].map(([, kind]) => `${slice} ${kind}`)),
  );

describe('the fault of a store that cannot be used', () => {
  /** The text that a caller of the RPC gets. */
  const told = (method: DescMethod | undefined): string => rpcFailureOf(new StoreUnavailable('away'), method).message;

  it('is answered with "nothing was recorded" to a command or an unknown RPC, and without it to a read', () => {
    const { createExecution, getExecution, listExecutions } = AdminService.method;
    const recorded = 'the store is unavailable; nothing was recorded';
    expect([undefined, createExecution, SignalService.method.getOrCreateSignal].map(told)).toEqual(
      Array<string>(3).fill(recorded),
    );
    const others = [
      EventLogService.method.tail,
      ExecutionWatchService.method.watch,
      HistoryService.method.diff,
      ExecutionCountService.method.count,
      IdentityService.method.userInfo,
    ];
    const reads = [getExecution, listExecutions, ...others];
    expect(reads.map(told)).toEqual(reads.map(() => 'a store is unavailable'));
  });
});

describe('docs/errors.md', () => {
  it('has a line for each status, with its numbers in gRPC and HTTP', () => {
    const known = Object.entries(statuses).map(([code, { number, http }]) => [code, String(number), String(http)]);
    expect(rows('Statuses').map((row) => row.slice(0, 3))).toEqual(known);
  });

  it('has a line for each fault, with its status', () => {
    const known = Object.entries(faultFailures).map(([fault, { code }]) => [fault, code]);
    expect(rows('Faults').map((row) => row.slice(0, 2))).toEqual(known);
  });

  it('has a line for each refusal', () => {
    const told = rows('Refusals').map(([slice, refusal]) => `${slice} ${refusal}`);
    expect(told.sort()).toEqual(refusals().sort());
  });
});

describe('the answer to an error', () => {
  it('has the code and the text of an RpcError', () => {
    expect(rpcFailureOf(invalid('limit'))).toEqual({
      code: 'INVALID_ARGUMENT',
      message: 'invalid value for limit',
      details: [],
    });
  });

  it('has the status and the fixed text of a fault, and of a parked stream its own text', () => {
    for (const fault of [new RevisionConflict('secret'), new OutcomeUnknown('secret'), new CorruptEvent('secret')])
      expect(rpcFailureOf(fault)).toEqual({ ...faultFailures[fault.code], details: [] });
    expect(rpcFailureOf(new StreamParked('tally-a', 7n, 'damaged'))).toMatchObject({
      code: 'UNAVAILABLE',
      message: 'stream tally-a is parked at position 7: damaged',
    });
  });

  it.each([new TypeError('secret'), 'secret', undefined])('is an internal error when %s is thrown', (thrown) => {
    expect(rpcFailureOf(thrown)).toEqual({ code: 'INTERNAL', message: 'internal error', details: [] });
  });
});

describe('a text that is cut', () => {
  it('ends between two characters', () => {
    expect(truncateText('aü', 2)).toBe('a');
    expect(truncateText('aü', 3)).toBe('aü');
    expect(truncateText('😀😀', 7)).toBe('😀');
  });

  it('is well-formed also when the text was not', () => {
    expect(truncateText('a\ud800b', 100)).toBe('a\ufffdb');
  });
});
