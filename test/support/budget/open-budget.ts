import type { Budget, BudgetRequest } from '../../../src/service/budget.ts';

/** A budget without limits that remembers which slots were asked for: for tests that are not about limits. */
export function openBudget(): Pick<Budget, 'run'> & { readonly asked: readonly BudgetRequest[] } {
  const asked: BudgetRequest[] = [];
  return {
    asked,
    async run(request, send) {
      request.signal.throwIfAborted();
      asked.push(request);
      return await send(request.signal);
    },
  };
}
