import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

import { sqliteAuthorizationState } from '../../services/store/authorization/sqlite-authorization-state.js';
import { authorizationStateContract } from './authorization-state.contract.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-authorization-state-'));

afterAll(() => rmSync(directory, { recursive: true }));

authorizationStateContract('a data directory', () => Promise.resolve(sqliteAuthorizationState(directory)));
