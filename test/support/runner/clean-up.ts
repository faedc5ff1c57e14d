import { afterAll } from 'vitest';
import { dropTestDatabases } from '../servers/mongo-server.js';
import { dropTestTopics } from '../processes/processes-apart.js';
import { stopTestLogs } from '../processes/test-log.js';

afterAll(async () => {
  await stopTestLogs();
  await dropTestDatabases();
  await dropTestTopics();
}, 60_000);
