/** The size of a node, in pixels. */
export const NODE = { width: 190, height: 58 } as const;

/** The top left corner of each node in pixels, by the id of the node. */
export type Positions = ReadonlyMap<string, { readonly x: number; readonly y: number }>;
