import { expect, it } from 'vitest';

it('tests compare with files, and write none that is missing', () => {
  const { snapshotState } = expect.getState() as { readonly snapshotState: { readonly snapshotUpdateState: string } };
  expect(snapshotState.snapshotUpdateState).toBe('none');
});
