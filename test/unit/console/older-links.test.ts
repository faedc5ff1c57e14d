import { describe, expect, it } from 'vitest';

import { addressOfOlderLink } from '../../../console/shell/older-links.js';

const SCOPE = '/projects/p/domains/d';

describe('a link of an older client', () => {
  it.each<[older: string, to: string, search?: Readonly<Record<string, string>>]>([
    ['/projects/p', '/projects/p/domains/development/executions'],
    ['/projects/p/workflows', '/projects/p/domains/development/workflows'],
    ['/projects/p/launchPlans', '/projects/p/domains/development/launch_plans'],
    [SCOPE, `${SCOPE}/executions`],
    [`${SCOPE}/executions/e/nodeId/n0-0-n1/nodes`, `${SCOPE}/executions/e`, { node: 'n0-0-n1' }],
    [`${SCOPE}/executions/e/graph`, `${SCOPE}/executions/e`],
    [`${SCOPE}/task/a.b%2Fc/version/v%201`, `${SCOPE}/tasks/a.b%2Fc`, { version: 'v 1' }],
    [`${SCOPE}/workflow/w/version/v1`, `${SCOPE}/workflows/w`, { version: 'v1' }],
    [`${SCOPE}/workflows/w/versions/v1`, `${SCOPE}/workflows/w`, { version: 'v1' }],
    [`${SCOPE}/launch_plan/l/version/v1`, `${SCOPE}/launch_plans/l`, { version: 'v1' }],
    [`${SCOPE}/task/t/version/1.0+a&b%26c%2Bd%25`, `${SCOPE}/tasks/t`, { version: '1.0+a&b&c+d%' }],
    [`${SCOPE}/task/t/version/100%`, `${SCOPE}/tasks/t`, { version: '100%' }],
    [`${SCOPE}/launchPlans/l`, `${SCOPE}/launch_plans/l`],
  ])('%s leads to %s', (older, to, search = {}) => expect(addressOfOlderLink(older)).toEqual({ to, search }));

  it('leads to the domain in its parameters', () =>
    expect(addressOfOlderLink('/projects/p/tasks', { domain: 'staging', duration: 'all' })).toEqual({
      to: '/projects/p/domains/staging/tasks',
      search: {},
    }));

  it('leads to the domain development where that parameter is empty', () =>
    expect(addressOfOlderLink('/projects/p/tasks', { domain: '' })?.to).toBe('/projects/p/domains/development/tasks'));

  it.each([
    '/nowhere',
    '/projects/p/nowhere',
    '/projects/p/constructor',
    `${SCOPE}/nowhere/n`,
    `${SCOPE}/constructor/n`,
    `${SCOPE}/workflows/w`,
    '/projects',
  ])('is unknown as %s', (path) => expect(addressOfOlderLink(path)).toBeUndefined());
});
