import { workerData } from 'node:worker_threads';
import { answerCalls } from '../thread-calls.js';
import { stateDatabase } from './state-database.js';

answerCalls(stateDatabase(workerData as string));
