import { create, fromJson } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';

import { auditCsv, auditJson } from '../../../console/audit/export.js';
import { AuditEntrySchema } from '../../../proto/gen/platformidl/eventlog/audit_service_pb.js';

const entry = create(AuditEntrySchema, {
  id: 7n,
  kind: 'call',
  at: timestampFromMs(Date.parse('2026-03-02T09:58:16.706Z')),
  count: 1n,
  principal: 'bob',
  transport: 'rest',
  action: 'AdminService.TerminateExecution',
  project: 'flytesnacks',
  name: 'f4rj8',
  code: 'PERMISSION_DENIED',
  reason: 'bob said "stop",\nand left',
  position: 4711n,
});

describe('the audit trail as a file', () => {
  it('is a table with a column for each field of an entry', () => {
    const [names, ...lines] = auditCsv([entry]).split('\r\n');
    expect(names!.split(',').length).toBe(AuditEntrySchema.fields.length);
    expect(names!.split(',')).toEqual(AuditEntrySchema.fields.map(({ name }) => name));
    expect(lines).toEqual([
      '7,call,2026-03-02T09:58:16.706Z,,1,bob,,,rest,,AdminService.TerminateExecution,' +
        'flytesnacks,,f4rj8,PERMISSION_DENIED,"bob said ""stop"",\nand left",,4711',
      '',
    ]);
  });

  it.each(['=cmd()', '+1', '-1', '@sum', '\tx'])('has no formula that a spreadsheet would run: %j', (name) => {
    expect(auditCsv([create(AuditEntrySchema, { name })])).toContain(`,'${name},`);
  });

  it('is the JSON form of the messages', () => {
    const [read] = JSON.parse(auditJson([entry])) as readonly [never];
    expect(fromJson(AuditEntrySchema, read)).toEqual(entry);
  });
});
