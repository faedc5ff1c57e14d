/** A fenced block: its language, what it is marked as, and its text. */
export type Block = { readonly language: string; readonly mark: 'run' | 'shows'; readonly text: string };

const FENCED = /^```(\w+) (run|shows)\n(.*?)^```$/gmsu;

/** The blocks of a Markdown text that are marked as commands to run, or as what these show. */
export const markedBlocks = (markdown: string): readonly Block[] =>
  [...markdown.matchAll(FENCED)].map(([, language = '', mark = '', text = '']) => ({
    language,
    mark: mark as Block['mark'],
    text: text.trim(),
  }));

/** A command with what is shown to come of it. */
export type Step = { readonly command: string; readonly shows?: Block };

/** Each command, with the block that follows it if that shows an answer. */
export const stepsOf = (blocks: readonly Block[]): readonly Step[] =>
  blocks.flatMap((block, index): Step[] => {
    if (block.mark !== 'run') return [];
    const next = blocks[index + 1];
    return [{ command: block.text, ...(next?.mark === 'shows' && { shows: next }) }];
  });
