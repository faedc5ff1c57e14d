/** A fenced block: its language, its mark, and its text. */
export type Block = { readonly language: string; readonly mark: 'run' | 'shows'; readonly text: string };

const FENCED = /^```(\w+) (run|shows)\n(.*?)^```$/gmsu;

/** The blocks of a Markdown text that are marked as commands to run, or as their output. */
export const markedBlocks = (markdown: string): readonly Block[] =>
  [...markdown.matchAll(FENCED)].map(([, language = '', mark = '', text = '']) => ({
    language,
    mark: mark as Block['mark'],
    text: text.trim(),
  }));

/** A command, with its output if the text shows it. */
export type Step = { readonly command: string; readonly shows?: Block };

/** Pairs each command with the block after it, if that shows its output. */
export const stepsOf = (blocks: readonly Block[]): readonly Step[] =>
  blocks.flatMap((block, index): Step[] => {
    if (block.mark !== 'run') return [];
    const next = blocks[index + 1];
    return [{ command: block.text, ...(next?.mark === 'shows' && { shows: next }) }];
  });
