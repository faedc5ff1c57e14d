/** The size of a node, in pixels. */
export const NODE = { width: 190, height: 58 } as const;

/** The position of each node in pixels, by its id. */
export type Positions = ReadonlyMap<string, { readonly x: number; readonly y: number }>;
