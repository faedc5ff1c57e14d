import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { routeTable } from '../../../services/gateway/routes.js';
import { configure } from '../../../services/main/configuration.js';
import { allRoutes, type RouteServices } from '../../../services/main/routes.js';
import { namedRpcs, withDerivedPart } from './coverage-tables.js';

const ROOT = join(import.meta.dirname, '../../../..');
const PAPER = join(ROOT, 'docs/coverage.md');
const paper = readFileSync(PAPER, 'utf8');

/** Stands for whatever routes are built on; none is asked anything here. */
const unasked: unknown = new Proxy(() => undefined, {
  get: (_target, name) => (name === 'then' ? undefined : unasked),
  apply: () => unasked,
});

const services = { ...(unasked as RouteServices), configuration: configure([]) };
const { routes } = allRoutes(
  new Proxy(services, { get: (own, name) => (Reflect.get(own, name) as unknown) ?? unasked }),
);
const all = routeTable(routes);

describe('docs/coverage.md', () => {
  it('says of every RPC whether it is built', async () => {
    await expect(withDerivedPart(paper, all)).toMatchFileSnapshot(PAPER);
  });

  it('names only RPCs that there are', () => {
    const names = new Set(all.map(({ name }) => name));
    for (const name of namedRpcs(paper)) expect(names).toContain(name);
    expect(namedRpcs(paper).length).toBeGreaterThan(50);
  });

  it('names only files that there are', () => {
    for (const [, path] of paper.matchAll(/`((?:proto|services|projections|test|docs)\/[\w./-]+)`/g)) {
      expect(existsSync(join(ROOT, path ?? '')), path).toBe(true);
    }
  });
});
