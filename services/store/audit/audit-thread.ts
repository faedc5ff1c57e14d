import { workerData } from 'node:worker_threads';
import { answerCalls } from '../thread-calls.js';
import { auditDatabase } from './audit-database.js';

answerCalls(auditDatabase(workerData as string));
