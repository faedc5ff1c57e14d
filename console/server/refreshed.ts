/** Options of queries whose answers no event announces: they are read every five seconds. */
export const REFRESHED = { refetchInterval: 5_000 } as const;
