import { workerData } from 'node:worker_threads';
import { answerCalls } from '../thread-calls.js';
import { stateDatabase } from './state-database.js';

// Started by sqlite-authorization-state.ts, with the path of the file as its data.
answerCalls(stateDatabase(workerData as string));
