/** Records in the test's metadata the number of contract cases that it tries. */
export const counted = ({ task }: { readonly task: { readonly meta: { cases?: number } } }, cases: number): void => {
  task.meta.cases = cases;
};
