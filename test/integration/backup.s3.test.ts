import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, equals } from '@bufbuild/protobuf';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, it } from 'vitest';
import { LiteralMapSchema, LiteralSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { DataProxyService } from '../../proto/gen/platformidl/service/dataproxy_pb.js';
import { s3Target } from '../../services/store/targets/s3-target.js';
import { s3Client } from '../../services/store/s3-client.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import { flightlog } from '../support/processes/command.js';
import { register } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { helloRequest, literal } from '../support/requests/hello.js';
import { makeBucket, newS3Location, s3Setting, s3Url } from '../support/servers/s3-server.js';
import { startServerProcess } from '../support/processes/server-process.js';
import { overGrpc } from '../support/clients/transports.js';

/** Larger than a chunk, 8 MiB, in which backups copy files. */
const LARGE_UPLOAD = Buffer.alloc(9_000_000, 'code');
/** The path of an uploaded file in a data directory. */
const UPLOAD = 'files/uploads/flytesnacks/development/code.tar.gz';
const EMBEDDED = ['--event-store', 'embedded:', '--read-store', 'sqlite:', '--payload-store', 'file:'];

/** The events of a log, each as its stream, revision and data. */
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

  it('a backup goes into a bucket, copies nothing a second time, and is restored unless damaged', async () => {
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
    writeFileSync(join(data, UPLOAD), LARGE_UPLOAD);

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

    const target = await s3Target(location, 'backup');
    const [damaged = ''] = [...(await target.sizes()).keys()].filter((path) => path.startsWith('payloads/'));
    await target.close();
    const client = s3Client(location);
    const { bucket: Bucket, prefix } = location;
    await client.send(new PutObjectCommand({ Bucket, Key: `${prefix}${damaged}`, Body: Buffer.from('damaged') }));
    client.destroy();
    const { code, stderr } = await restore(join(folder, 'broken'));
    expect([code, stderr]).toEqual([1, expect.stringContaining(`is damaged: ${damaged} is not what its name says`)]);
  });

  it('payloads and uploads of a bucket are in a backup, and are restored into another bucket or into files', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flightlog-backup-of-s3-'));
    const [data, to] = [join(folder, 'data'), join(folder, 'backup')];
    const [original, other] = [s3Setting(newS3Location()), s3Setting(newS3Location())];
    const serve = (directory: string, payloads: string) =>
      startServerProcess({
        data: directory,
        args: ['--event-store', 'embedded:', '--read-store', 'sqlite:', '--payload-store', payloads],
        env: { FLIGHTLOG_PROJECTS: '["flytesnacks"]' },
      });
    const server = await serve(data, original);
    const grpc = overGrpc(server.ready);
    await register(grpc, withNeeds('01-hello'));
    const name = 'x'.repeat(100_000);
    const request = helloRequest('large', (of) => {
      of.inputs = create(LiteralMapSchema, { literals: { name: literal(name) } });
    });
    const { id } = await grpc.call(AdminService.method.createExecution, request);
    const code = LARGE_UPLOAD;
    const contentMd5 = createHash('md5').update(code).digest();
    const upload = {
      project: 'flytesnacks',
      domain: 'development',
      contentMd5,
      filenameRoot: 'kept',
      filename: 'code',
    };
    const located = await grpc.call(DataProxyService.method.createUploadLocation, upload);
    await fetch(located.signedUrl, { method: 'PUT', body: code, headers: located.headers });

    const run = async (...args: readonly string[]): Promise<Record<string, number>> => {
      const { code: exit, stdout, stderr } = await flightlog(args).ended;
      expect(exit, stderr).toBe(0);
      return JSON.parse(stdout) as Record<string, number>;
    };
    const from = ['--data', data, '--event-store', 'embedded:', '--payload-store', original];
    const backup = () => run('backup', ...from, '--to', to);
    expect(await backup()).toMatchObject({ copiedPayloads: 2, copiedFiles: 1, files: 1 });
    expect(await backup()).toMatchObject({ copiedPayloads: 0, copiedBytes: 0, copiedFiles: 0, files: 1 });
    const intoOwnBucket = await flightlog(['backup', ...from, '--to', original]).ended;
    expect(intoOwnBucket).toMatchObject({ code: 1, stdout: '' });
    expect(intoOwnBucket.stderr).toContain('has the bucket and prefix of the payload store');
    grpc.close();
    await server.kill();

    const [inBucket, inFiles] = [join(folder, 'in-bucket'), join(folder, 'in-files')];
    const restored = { payloads: 2, files: 1 };
    const into = ['restore', '--from', to, '--data-dir'];
    expect(await run(...into, inBucket, '--payload-store', other)).toMatchObject(restored);
    expect(await run(...into, inFiles)).toMatchObject(restored);
    expect(existsSync(join(inBucket, 'payloads'))).toBe(false);
    expect(existsSync(join(inBucket, 'files'))).toBe(false);
    expect(readFileSync(join(inFiles, 'files/uploads/flytesnacks/development/kept/code')).equals(code)).toBe(true);

    const second = await serve(inBucket, other);
    const client = overGrpc(second.ready);
    const inputs = await client.call(AdminService.method.getExecutionData, { id: id! });
    expect(equals(LiteralSchema, inputs.fullInputs!.literals['name']!, create(LiteralSchema, literal(name)))).toBe(
      true,
    );
    // Clients that register the same code again find the upload by its content.
    const { nativeUrl } = await client.call(DataProxyService.method.createUploadLocation, upload);
    const { signedUrl } = await client.call(DataProxyService.method.createDownloadLocation, { nativeUrl });
    expect(Buffer.from(await (await fetch(signedUrl)).arrayBuffer()).equals(code)).toBe(true);
    client.close();
    await second.kill();
  });
});
