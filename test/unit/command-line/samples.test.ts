import { expect, it } from 'vitest';

import { areSamplesIncomplete } from '../../../services/cli/sandbox/samples.js';
import { freePort } from '../../support/processes/command.js';

it('samples that cannot be read are left as they are, so that the sandbox starts', async () => {
  expect(await areSamplesIncomplete({ endpoint: `127.0.0.1:${await freePort()}` })).toBe(false);
});
