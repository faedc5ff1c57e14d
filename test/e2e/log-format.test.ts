import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LogFormatSetSchema } from '../../proto/gen/platformidl/eventlog/log_format_pb.js';
import { ProjectRegisteredSchema } from '../../proto/gen/platformidl/eventlog/project_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { NEWEST_FORMAT } from '../../services/kernel/log-format.js';
import type { NewEvent } from '../../services/kernel/event.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { LOG_FORMAT_STREAM } from '../../services/log-format/events.js';
import { projectStream } from '../../services/project/events.js';
import { sqliteEventStore } from '../../services/store/log/sqlite-event-store.js';
import { flightlog } from '../support/processes/command.js';
import { register } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { newEvent } from '../support/streams/filled-log.js';
import { readiness } from '../support/processes/health.js';
import { helloRequest, launchHello } from '../support/requests/hello.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { overGrpc, type Transport } from '../support/clients/transports.js';

const { method } = AdminService;
const EMBEDDED = ['--event-store', 'embedded:', '--read-store', 'sqlite:'];
const PLACE = { project: 'flytesnacks', domain: 'development' };
const project = { id: 'flytesnacks', name: 'flytesnacks' };

// The tests follow one another on one log.
describe('a log that an older release has begun', () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-format-'));
  let server: ServerProcess;
  let api: Transport;

  /** Records an event as another release does. */
  const record = async (stream: StreamName, event: NewEvent): Promise<void> => {
    const store = await sqliteEventStore({ directory });
    await store.append(stream, 'any', [event]);
    await store.close();
  };

  /** Runs `flightlog log format`: returns its output, or the text of its refusal. */
  const logFormat = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await flightlog(['log', 'format', '--data', directory, ...args]).ended;
    return code === 0 ? JSON.parse(stdout) : stderr;
  };

  const start = async (): Promise<void> => {
    server = await startServerProcess({ data: directory, args: EMBEDDED });
    api = overGrpc(server.ready);
  };

  const stop = async (): Promise<void> => {
    api.close();
    await server.stop();
  };

  beforeAll(async () => {
    const data = toBinary(ProjectRegisteredSchema, create(ProjectRegisteredSchema, { project }));
    await record(projectStream(project.id), newEvent('ProjectRegistered', data));
  });

  afterAll(async () => {
    api.close();
    await server.kill();
    rmSync(directory, { recursive: true });
  });

  it('is switched to a newer format by `log format --to`, and not back', async () => {
    const newest = NEWEST_FORMAT;
    expect(await logFormat()).toEqual({ format: 1, newest });
    expect(await logFormat('--to', `${newest + 1}`)).toContain(`this release writes the formats 1 to ${newest}`);
    expect(await logFormat('--to', `${newest}`)).toEqual({ format: newest, newest });
    expect(await logFormat('--to', '1')).toContain(`the log is written in format ${newest} already`);
    expect(await logFormat()).toEqual({ format: newest, newest });
  });

  it('is not switched while a server writes it', async () => {
    await start();
    await register(api, withNeeds('01-hello'));
    await launchHello(api, 'before');
    expect(await logFormat('--to', `${NEWEST_FORMAT}`)).toContain(`${directory} is in use`);
    await stop();
  });

  it('takes no launch once it has the format of a newer release, but can be read', async () => {
    const data = toBinary(LogFormatSetSchema, create(LogFormatSetSchema, { format: NEWEST_FORMAT + 1 }));
    await record(LOG_FORMAT_STREAM, newEvent('LogFormatSet', data));
    await start();
    const { code, message } = await api.attempt(method.createExecution, helloRequest('after'));
    expect(code).toBe('UNAVAILABLE');
    expect(message).toContain('a newer release writes the log');
    const { id } = await api.call(method.getExecution, { id: { ...PLACE, name: 'before' } });
    expect(id?.name).toBe('before');
    const { ready, checks } = await readiness(server.ready.http);
    expect([ready, checks['log-format']?.state]).toEqual([false, 'down']);
  });
});
