import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { overGrpc, type Transport } from '../support/clients/transports.js';
import { readiness } from '../support/processes/health.js';
import { startServerProcess } from '../support/processes/server-process.js';

/** A data directory on a file system of its own, of 32 MiB; `undefined` where this user may not mount one. */
const smallDisk = (): string | undefined => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-full-disk-'));
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', directory]).status === 0;
  onTestFinished(() => {
    if (isMounted) spawnSync('umount', ['-l', directory]);
    rmSync(directory, { recursive: true });
  });
  return isMounted ? directory : undefined;
};

/** Takes the free space, but for one page of memory. */
const fill = (directory: string, file: string): void => {
  const { bavail, bsize } = statfsSync(directory);
  writeFileSync(file, new Uint8Array((bavail - 1) * bsize));
};

/** Registers projects until one is refused, and returns that failure. */
const registerUntilRefused = async (grpc: Transport): Promise<unknown> => {
  for (let n = 0; n < 1_000; n += 1) {
    const project = { id: `project-${n}`, name: 'x'.repeat(64) };
    const failure: unknown = await grpc.call(AdminService.method.registerProject, { project }).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure !== undefined) return failure;
  }
  throw new Error('the disk is not full');
};

it('a server on a full disk names the failing appends in /readyz, and stays ready for reads, until one succeeds', async ({
  skip,
}) => {
  const data = smallDisk();
  if (data === undefined) return skip('this user may not mount a file system');
  const server = await startServerProcess({ data, args: ['--event-store', 'embedded:', '--read-store', 'sqlite:'] });
  onTestFinished(() => server.kill());
  const grpc = overGrpc(server.ready);
  expect((await readiness(server.ready.http)).checks).not.toHaveProperty('appends');
  const inTheWay = join(data, 'in-the-way');
  fill(data, inTheWay);
  const refused = await registerUntilRefused(grpc);
  expect(String(refused)).toContain('UNAVAILABLE: the store is unavailable; nothing was recorded');
  const { ready, checks } = await readiness(server.ready.http);
  expect([ready, checks['appends']?.state]).toEqual([true, 'degraded']);
  expect(checks['appends']?.why).toContain('the disk is full');
  rmSync(inTheWay);
  await grpc.call(AdminService.method.registerProject, { project: { id: 'after', name: 'after' } });
  expect((await readiness(server.ready.http)).checks).not.toHaveProperty('appends');
});
