import { join } from 'node:path';

import { expect, it } from 'vitest';

import { commandsPage } from '../../support/documents/command-reference.js';

const PAGE = join(import.meta.dirname, '../../../../docs/command-line-reference.md');

it('docs/command-line-reference.md has the commands and flags of the program', async () => {
  await expect(commandsPage()).toMatchFileSnapshot(PAGE, '`npm run commands-list` writes it');
});
