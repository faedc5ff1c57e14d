import { workerData } from 'node:worker_threads';
import { answerCalls } from '../thread-calls.js';
import { auditDatabase } from './audit-database.js';

// Started by sqlite-audit-store.ts, with the data directory as its data.
answerCalls(auditDatabase(workerData as string));
