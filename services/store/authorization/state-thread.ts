import { workerData } from 'node:worker_threads';
import { answerCalls } from '../thread-calls.js';
import { stateDatabase } from './state-database.js';

const directory = workerData as string;
answerCalls(stateDatabase(directory));
