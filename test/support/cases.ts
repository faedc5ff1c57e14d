/** Says that a test tries this many cases of the contract. */
export const counted = ({ task }: { readonly task: { readonly meta: { cases?: number } } }, cases: number): void => {
  task.meta.cases = cases;
};
