import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { adapters } from '../../../../services/auth/server/adapter.js';
import type { AuthorizationState } from '../../../../services/kernel/ports/authorization-state.js';
import { sqliteAuthorizationState } from '../../../../services/store/authorization/sqlite-authorization-state.js';

let directory: string;
let state: AuthorizationState;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-adapter-'));
  state = sqliteAuthorizationState(directory);
});
afterEach(async () => {
  await state.close();
  rmSync(directory, { recursive: true });
});

const LIFETIME = 60;
const NO_CLIENTS = { find: () => Promise.resolve(undefined) };

describe('a refresh token that is used a second time', () => {
  it('ends the token that its first use has brought, also one that is stored meanwhile', async () => {
    const make = adapters(state, NO_CLIENTS);
    const [grants, tokens] = [make('Grant'), make('RefreshToken')];
    await grants.upsert('g', { accountId: 'ada' }, LIFETIME);
    await tokens.upsert('old', { grantId: 'g' }, LIFETIME);
    await tokens.consume('old');
    await tokens.upsert('brought', { grantId: 'g' }, LIFETIME);
    /**
     * The first use stores its new token and extends the grant, as `extendGrants` does, while the second ends the
     * grant.
     */
    const racing: AuthorizationState = {
      ...state,
      remove: async (kind, key) => {
        await tokens.upsert('new', { grantId: 'g' }, LIFETIME);
        const grant = await grants.find('g');
        await state.remove(kind, key);
        if (grant) await grants.upsert('g', grant, LIFETIME);
      },
    };
    await expect(adapters(racing, NO_CLIENTS)('RefreshToken').consume('old')).rejects.toThrow('invalid_grant');
    for (const id of ['brought', 'new']) expect(await tokens.find(id)).toBeUndefined();
  });
});
