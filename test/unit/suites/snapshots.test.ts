import { expect, it } from 'vitest';

it('a run of tests writes no snapshot that is missing', () => {
  const { snapshotState } = expect.getState() as { readonly snapshotState: { readonly snapshotUpdateState: string } };
  expect(snapshotState.snapshotUpdateState).toBe('none');
});
