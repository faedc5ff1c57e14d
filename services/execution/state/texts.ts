/** The texts in a state whose length clients choose: tags, and the ids of nodes, tasks and signals. */
export type Texts = {
  tags: readonly string[];
  /** The approximate memory of these texts, in bytes. */
  textBytes: number;
};

/** The memory of a short text besides its characters, in bytes. */
const TEXT_BYTES = 30;

const sizeOfTags = (tags: readonly string[]): number =>
  tags.reduce((bytes, { length }) => bytes + TEXT_BYTES + length, 0);

export const setTags = (state: Texts, tags: readonly string[]): void => {
  state.textBytes += sizeOfTags(tags) - sizeOfTags(state.tags);
  state.tags = tags;
};
