import type { ELK } from 'elkjs/lib/elk-api.js';

import type { Elements } from './elements.js';
import { NODE, type Positions } from './positions.js';

let engine: Promise<ELK> | undefined;

/** The layout runs in a worker, which is loaded when the first graph is shown. */
const openEngine = async (): Promise<ELK> => {
  const [{ default: Elk }, { default: address }] = await Promise.all([
    import('elkjs/lib/elk-api.js'),
    import('elkjs/lib/elk-worker.min.js?url'),
  ]);
  return new Elk({ workerFactory: () => new Worker(new URL(address, import.meta.url)) });
};

/** The direction in which a graph is read. */
export type Direction = 'RIGHT' | 'DOWN';

/** Arranges the nodes in layers, one after another in the direction. */
export const layoutOf = async ({ nodes, lines }: Elements, direction: Direction): Promise<Positions> => {
  engine ??= openEngine().catch((error: unknown) => {
    engine = undefined; // the next attempt loads it again
    throw error;
  });
  const elk = await engine;
  const arranged = await elk.layout({
    id: 'workflow',
    layoutOptions: {
      'elk.algorithm': 'layered',
      'elk.direction': direction,
      'elk.spacing.nodeNode': '28',
      'elk.layered.spacing.nodeNodeBetweenLayers': '64',
      'elk.layered.nodePlacement.strategy': 'BRANDES_KOEPF',
    },
    children: nodes.map(({ id }) => ({ id, ...NODE })),
    edges: lines.map(({ id, from, to }) => ({ id, sources: [from], targets: [to] })),
  });
  return new Map((arranged.children ?? []).map(({ id, x = 0, y = 0 }) => [id, { x, y }]));
};
