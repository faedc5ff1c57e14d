import { afterAll } from 'vitest';
import { dropTestDatabases } from './mongo-server.js';
import { dropTestTopics } from './processes-apart.js';
import { stopTestLogs } from './test-log.js';

afterAll(async () => {
  await stopTestLogs();
  await dropTestDatabases();
  await dropTestTopics();
}, 60_000);
