import { afterAll } from 'vitest';
import { stopTestLogs } from './test-log.js';

afterAll(stopTestLogs, 60_000);
