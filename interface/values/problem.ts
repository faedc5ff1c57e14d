/** A value that its type does not allow, in words for people. */
export class Problem extends Error {
  override readonly name = 'Problem';
}
