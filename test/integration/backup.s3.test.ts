import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, it } from 'vitest';
import { LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { s3Target } from '../../services/store/backup/s3-target.js';
import { s3Client } from '../../services/store/s3-client.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import { flightlog } from '../support/command.js';
import { register } from '../support/control-plane.js';
import { withNeeds } from '../support/fixtures.js';
import { helloRequest, literal } from '../support/hello.js';
import { makeBucket, newS3Location, s3Setting, s3Url } from '../support/s3-server.js';
import { startServerProcess } from '../support/server-process.js';
import { overGrpc } from '../support/transports.js';

const UPLOAD = 'files/uploads/flytesnacks/development/code.tar.gz';
const EMBEDDED = ['--event-store', 'embedded:', '--read-store', 'sqlite:', '--payload-store', 'file:'];

const eventsIn = async (directory: string): Promise<string[]> => {
  const log = await sqliteLogReader({ directory });
  const events: string[] = [];
  for await (const page of log.readLog({ after: 0n }))
    for (const { stream, revision, data } of page.events)
      events.push(`${stream}/${revision} ${Buffer.from(data).toString('base64')}`);
  await log.close();
  return events;
};

describe.skipIf(s3Url === undefined)('with an S3 server', () => {
  beforeAll(makeBucket);

  it('a backup goes into a bucket, only what is new the next time, and is restored from it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flightlog-backup-s3-'));
    const [data, copy] = [join(folder, 'data'), join(folder, 'copy')];
    const server = await startServerProcess({ data, args: EMBEDDED, env: { FLIGHTLOG_PROJECTS: '["flytesnacks"]' } });
    const grpc = overGrpc(server.ready);
    await register(grpc, withNeeds('01-hello'));
    const request = helloRequest('large', (of) => {
      of.inputs = create(LiteralMapSchema, { literals: { name: literal('x'.repeat(100_000)) } });
    });
    await grpc.call(AdminService.method.createExecution, request);
    mkdirSync(join(data, UPLOAD, '..'), { recursive: true });
    writeFileSync(join(data, UPLOAD), Buffer.alloc(9_000_000, 'code'));

    const location = newS3Location();
    const to = s3Setting(location);
    const backup = async (): Promise<Record<string, number>> => {
      const ended = await flightlog(['backup', '--data', data, '--event-store', 'embedded:', '--to', to]).ended;
      expect(ended).toMatchObject({ code: 0 });
      return JSON.parse(ended.stdout) as Record<string, number>;
    };
    const restore = (into: string) => flightlog(['restore', '--from', to, '--data-dir', into]).ended;
    expect(await backup()).toMatchObject({ copiedPayloads: 2, files: 2 });
    expect(await backup()).toMatchObject({ copiedPayloads: 0, copiedBytes: 0, copiedEvents: 0 });
    await server.kill();
    grpc.close();
    expect(await restore(copy)).toMatchObject({ code: 0 });
    expect(await eventsIn(copy)).toEqual(await eventsIn(data));
    expect(readFileSync(join(copy, UPLOAD)).equals(readFileSync(join(data, UPLOAD)))).toBe(true);

    const place = await s3Target(location);
    const [damaged = ''] = [...(await place.sizes()).keys()].filter((path) => path.startsWith('payloads/'));
    await place.close();
    const client = s3Client(location);
    const { bucket: Bucket, prefix } = location;
    await client.send(new PutObjectCommand({ Bucket, Key: `${prefix}${damaged}`, Body: Buffer.from('damaged') }));
    client.destroy();
    const { code, stderr } = await restore(join(folder, 'broken'));
    expect([code, stderr]).toEqual([1, expect.stringContaining(`is damaged: ${damaged} is not what its name says`)]);
  });
});
